import { parseGoDuration } from "../../lib/go-duration.ts";

const sizes: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** `500ms`, `2s`, `1m30s`, `1h`, `forever`; undefined for anything else. */
export function parseDurationMs(text: string): number | undefined {
  const ms = text === "forever" ? Number.POSITIVE_INFINITY : parseGoDuration(text);
  return ms !== undefined && ms >= 0 ? ms : undefined;
}

/** `1024`, `64Ki`, `10Mi`, `1.5Gi`, `5M`; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(sizes, unit) ? sizes[unit] : undefined;
  return number === undefined || factor === undefined ? undefined : Math.round(Number(number) * factor);
}

export function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
