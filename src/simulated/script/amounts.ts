const durations: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const sizes: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** `500ms`, `2s`, `1.5m`, `1h`, `forever`; undefined for anything else. */
export function parseDurationMs(text: string): number | undefined {
  return text === "forever" ? Number.POSITIVE_INFINITY : parseAmount(text, durations);
}

/** `1024`, `64Ki`, `10Mi`, `1.5Gi`, `5M`; undefined for anything else. */
export function parseBytes(text: string): number | undefined {
  const bytes = parseAmount(text, sizes);
  return bytes === undefined ? undefined : Math.round(bytes);
}

export function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function parseAmount(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, number, unit = ""] = /^(\d{1,12}(?:\.\d{1,6})?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  return number === undefined || factor === undefined ? undefined : Number(number) * factor;
}
