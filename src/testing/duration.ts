/** Milliseconds, or text as Kubernetes writes it: `500ms`, `30s`, `1h30m`. */
export type Duration = number | string;

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const whole = /^(?:\d{1,9}(?:\.\d{1,6})?(?:ms|s|m|h))+$/;
const part = /(\d+(?:\.\d+)?)(ms|s|m|h)/g;

/** Throws for what is none; `name` says whose it is. */
export function toMs(duration: Duration, name: string): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (ms !== undefined && ms >= 0) return ms;
  const given = typeof duration === "string" ? JSON.stringify(duration) : duration;
  throw new TypeError(
    `${name}: ${given} is no duration; write milliseconds, or text like "500ms", "30s", "1h30m"`,
  );
}

function parse(text: string): number | undefined {
  if (!whole.test(text)) return undefined;
  let ms = 0;
  for (const [, amount, unit = ""] of text.matchAll(part)) ms += Number(amount) * (unitsMs[unit] ?? 0);
  return ms;
}
