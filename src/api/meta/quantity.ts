/**
 * Kubernetes quantity (`500m`, `1Gi`, `12e6`): an exact number in billionths, the smallest unit that upstream
 * represents. Smaller fractions are rounded away from zero.
 */
export interface Quantity {
  readonly nanos: bigint;
  /** Output format: `1Gi`, `1G` or `1e9`. */
  readonly format: "BinarySI" | "DecimalSI" | "DecimalExponent";
}

export class QuantityError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "QuantityError";
  }
}

const badFormat =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const badNumber = "unable to parse numeric part of quantity";
const badSuffix = "unable to parse quantity's suffix";

const split = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Power of ten of each decimal suffix. */
const decimalExponents = new Map(decimalSuffixes.map((suffix, i) => [suffix, (i - 3) * 3]));

// Limits for hostile strings. Upstream has none.
const maxDigits = 400;
const maxExponent = 300;

const billion = 1_000_000_000n;
/** Upstream stores binary quantities in 64 bits. */
const largestBinary: Quantity = { nanos: ((1n << 63n) - 1n) * billion, format: "BinarySI" };

/** Cache of parsed quantities: most pods use the same few. */
const known = new Map<string, Quantity>();
const maxKnown = 1_000;

/** Parses a quantity. Throws a QuantityError with upstream's message. */
export function parseQuantity(text: string): Quantity {
  let quantity = known.get(text);
  if (!quantity) {
    quantity = readQuantity(text);
    if (known.size >= maxKnown) known.clear();
    known.set(text, quantity);
  }
  return quantity;
}

function readQuantity(text: string): Quantity {
  const parts = text.length > 0 ? split.exec(text) : null;
  if (!parts) throw new QuantityError(badFormat);
  const [, sign = "", whole = "", fraction = "", suffix = ""] = parts;
  if (whole.length + fraction.length > maxDigits) throw new QuantityError(badNumber);

  const digits = BigInt(whole + fraction || "0");
  const { nanos, format } = scale(digits, fraction.length, suffix);
  // Like upstream, binary quantities below 1024 are printed with decimal suffixes.
  const shown = format === "BinarySI" && nanos > 0n && nanos < billion ? "DecimalSI" : format;
  return { nanos: sign === "-" ? -nanos : nanos, format: shown };
}

function scale(digits: bigint, fractionDigits: number, suffix: string): Quantity {
  const binary = binarySuffixes.indexOf(suffix, 1);
  if (binary > 0) {
    const units = digits * 1024n ** BigInt(binary);
    const nanos = shiftDecimal(units, 9 - fractionDigits);
    return nanos > largestBinary.nanos ? largestBinary : { nanos, format: "BinarySI" };
  }
  const exponent = decimalExponents.get(suffix);
  if (exponent !== undefined) {
    return { nanos: shiftDecimal(digits, 9 + exponent - fractionDigits), format: "DecimalSI" };
  }
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) throw new QuantityError(badSuffix);
  const power = Number(suffix.slice(1));
  if (Math.abs(power) > maxExponent) throw new QuantityError(badSuffix);
  return { nanos: shiftDecimal(digits, 9 + power - fractionDigits), format: "DecimalExponent" };
}

/** value × 10^places, rounded up. */
function shiftDecimal(value: bigint, places: number): bigint {
  if (places >= 0) return value * 10n ** BigInt(places);
  return divideUp(value, 10n ** BigInt(-places));
}

/** Rounds away from zero. */
function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (quotient * divisor === value) return quotient;
  return value > 0n ? quotient + 1n : quotient - 1n;
}

export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return "0";
  const large = nanos >= 1024n * billion || nanos <= -1024n * billion;
  if (format === "BinarySI" && large && nanos % billion === 0n) {
    return largestUnit(nanos / billion, 1024n, binarySuffixes);
  }
  if (format === "DecimalExponent") return formatExponent(nanos);
  return largestUnit(nanos, 1000n, decimalSuffixes);
}

/** Formats the value as a whole number with the largest possible suffix. */
function largestUnit(value: bigint, step: bigint, suffixes: readonly string[]): string {
  let rest = value;
  let unit = 0;
  while (unit < suffixes.length - 1 && rest % step === 0n) {
    rest /= step;
    unit++;
  }
  return `${rest}${suffixes[unit]}`;
}

function formatExponent(nanos: bigint): string {
  let rest = nanos;
  let exponent = -9;
  while (rest % 1000n === 0n) {
    rest /= 1000n;
    exponent += 3;
  }
  return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
}

/**
 * Canonical form of a quantity. Like upstream, text whose digits and suffix are canonical is kept: `1.250` stays, `0.5`
 * becomes `500m`.
 */
export function canonicalQuantity(text: string): string {
  if (plain.test(text)) return text;
  const quantity = parseQuantity(text);
  return isKeptAsWritten(text) ? text : formatQuantity(quantity);
}

/** Matches most quantities in manifests: no sign, no fraction, no leading or trailing zeros. */
const plain = /^[1-9][0-9]{0,6}(?<![0-9]000)m?$/;

function isKeptAsWritten(text: string): boolean {
  const [, , whole = "", fraction = "", suffix = ""] = split.exec(text) ?? [];
  const digits = (whole.replace(/^0+/, "") || "0") + fraction;
  const exponent = decimalExponents.get(suffix);
  if (exponent === undefined || digits.length > 18) return false;
  const power = exponent - fraction.length;
  return power >= -9 && power % 3 === 0 && !digits.startsWith("0") && !digits.endsWith("000");
}

export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

/** Adds two quantities. The sum has the format of the first one, unless that is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** Value in whole units, rounded up: bytes of memory, pods. */
export function wholeUnits(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, billion));
}

/** Largest number of whole units that upstream compares in thousandths. */
export const maxMilliValue = Number(((1n << 63n) - 1n) / 1000n);

/** Value in thousandths, rounded up: CPU of the scheduler and cgroups. */
export function milliUnits(quantity: Quantity): number {
  return Number(divideUp(quantity.nanos, 1_000_000n));
}

/** Rounds up to thousandths, the precision of resources of pods and nodes. */
export function roundUpToMilli(quantity: Quantity): Quantity {
  return { ...quantity, nanos: divideUp(quantity.nanos, 1_000_000n) * 1_000_000n };
}
