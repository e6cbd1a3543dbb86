export interface Pull {
  readonly image: string;
  readonly seconds: number;
  readonly bytes: number | undefined;
}

// Kubelets before 1.31 do not say the size, those before 1.27 neither the time with waiting.
const pulled = /^Successfully pulled image "([^"]{1,1000})" in ([0-9a-zµ.]{1,40})(?: \(|\.?$)/;
const size = / Image size: (\d{1,15}) bytes\./;

/** Reads a kubelet's words on a pull that is done; undefined for all others, as of an image that was there. */
export function parsePullMessage(message: string): Pull | undefined {
  const [, image, duration = ""] = pulled.exec(message) ?? [];
  const seconds = parseSeconds(duration);
  if (!image || seconds === undefined) return undefined;
  const bytes = size.exec(message)?.[1];
  return { image, seconds, bytes: bytes === undefined ? undefined : Number(bytes) };
}

const unitSeconds: Readonly<Record<string, number>> = {
  h: 3_600,
  m: 60,
  s: 1,
  ms: 1e-3,
  µs: 1e-6,
  us: 1e-6,
  ns: 1e-9,
};

/** A duration as Go prints it: `1m10.5s`, `350ms`. */
export function parseSeconds(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|µs|us|ns)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (unitSeconds[unit ?? ""] ?? 0), 0);
}
