/** Range of sizes or costs, in unsigned 64 bits. Additions and multiplications stop at the largest number. */
export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

export const maxUint64 = (1n << 64n) - 1n;

export const unknownSize: Range = { min: 0n, max: maxUint64 };

export function fixed(value: bigint | number): Range {
  return { min: BigInt(value), max: BigInt(value) };
}

function bounded(value: bigint): bigint {
  return value > maxUint64 ? maxUint64 : value;
}

export function add(...ranges: readonly Range[]): Range {
  return ranges.reduce((a, b) => ({ min: bounded(a.min + b.min), max: bounded(a.max + b.max) }));
}

export function multiply(a: Range, b: Range): Range {
  return { min: bounded(a.min * b.min), max: bounded(a.max * b.max) };
}

/** Range times a factor, rounded up. */
export function scale({ min, max }: Range, factor: number): Range {
  return { min: scaled(min, factor), max: scaled(max, factor) };
}

const twoTo64 = 2 ** 64;

function scaled(value: bigint, factor: number): bigint {
  const result = Math.ceil(Number(value) * factor);
  return result >= twoTo64 ? maxUint64 : BigInt(result);
}

export function union(a: Range, b: Range): Range {
  return { min: smaller(a.min, b.min), max: a.max === smaller(a.max, b.max) ? b.max : a.max };
}

export function smaller(a: bigint, b: bigint): bigint {
  const isFirst = a < b;
  return isFirst ? a : b;
}
