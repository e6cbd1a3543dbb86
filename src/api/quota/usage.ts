import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantities,
} from "../meta/quantity.ts";

/** Amounts by the names that quotas use: `pods`, `requests.cpu`, `count/jobs.batch`. */
export type Usage = ReadonlyMap<string, Quantity>;

export type ResourceList = Readonly<Record<string, string>>;

export const zero: Quantity = { nanos: 0n, format: "DecimalSI" };
export const one: Quantity = { nanos: 1_000_000_000n, format: "DecimalSI" };

export function count(amount: number): Quantity {
  return { nanos: BigInt(amount) * one.nanos, format: "DecimalSI" };
}

export function parseUsage(list: ResourceList | undefined): Usage {
  return new Map(Object.entries(list ?? {}).map(([name, amount]) => [name, parseQuantity(amount)]));
}

export function formatUsage(usage: Usage): Record<string, string> {
  return Object.fromEntries([...usage].map(([name, amount]) => [name, formatQuantity(amount)]));
}

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = new Map(a);
  for (const [name, amount] of b) {
    const before = sum.get(name);
    sum.set(name, before ? addQuantities(before, amount) : amount);
  }
  return sum;
}

/** What `next` uses more than `previous`. Amounts are never negative; those of zero are left out. */
export function usageIncrease(next: Usage, previous: Usage): Usage {
  const increase = new Map<string, Quantity>();
  for (const [name, amount] of next) {
    const more = subtractQuantities(amount, previous.get(name) ?? zero);
    if (more.nanos > 0n) increase.set(name, more);
  }
  return increase;
}

export function maskUsage(usage: Usage, names: Iterable<string>): Usage {
  const kept = new Set(names);
  return new Map([...usage].filter(([name]) => kept.has(name)));
}

export function isEqualUsage(a: Usage, b: Usage): boolean {
  if (a.size !== b.size) return false;
  for (const [name, amount] of a) {
    const other = b.get(name);
    if (!other || compareQuantities(amount, other) !== 0) return false;
  }
  return true;
}
