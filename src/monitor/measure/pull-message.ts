import { parseGoDuration } from "../../lib/go-duration.ts";

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
  const ms = parseGoDuration(duration);
  if (!image || ms === undefined) return undefined;
  const bytes = size.exec(message)?.[1];
  return { image, seconds: ms / 1_000, bytes: bytes === undefined ? undefined : Number(bytes) };
}
