export interface Counts {
  readonly bad: number;
  readonly total: number;
}

/** Counts by key over a sliding window of `windowMs`, which advances in steps. */
export interface WindowedCounts {
  add(now: number, keys: readonly string[], isBad: boolean): void;
  totals(now: number): ReadonlyMap<string, Counts>;
  /** Counts as plain data, for the `saved` option. */
  save(): SavedCounts;
}

/** Counts by step number since the epoch. */
export type SavedCounts = readonly (readonly [
  step: number,
  counts: readonly (readonly [string, Counts])[],
])[];

interface Options {
  readonly windowMs: number;
  readonly steps: number;
  readonly saved?: SavedCounts;
}

export function createWindowedCounts({ windowMs, steps, saved = [] }: Options): WindowedCounts {
  const stepMs = windowMs / steps;
  const stepOf = (now: number) => Math.floor(now / stepMs);
  const byStep = new Map(saved.map(([step, counts]) => [step, new Map(counts)]));

  function expire(now: number): void {
    const oldest = stepOf(now) - steps;
    for (const step of byStep.keys()) if (step <= oldest) byStep.delete(step);
    // After the clock was set back, steps in the future would never expire.
    for (const step of byStep.keys()) if (step > stepOf(now) + steps) byStep.delete(step);
  }

  return {
    add(now, keys, isBad) {
      expire(now);
      const step = stepOf(now);
      const counts = byStep.get(step) ?? new Map<string, Counts>();
      byStep.set(step, counts);
      for (const key of keys) {
        const { bad, total } = counts.get(key) ?? { bad: 0, total: 0 };
        counts.set(key, { bad: bad + (isBad ? 1 : 0), total: total + 1 });
      }
    },
    totals(now) {
      expire(now);
      const sums = new Map<string, Counts>();
      for (const counts of byStep.values()) {
        for (const [key, { bad, total }] of counts) {
          const sum = sums.get(key);
          sums.set(key, { bad: bad + (sum?.bad ?? 0), total: total + (sum?.total ?? 0) });
        }
      }
      return sums;
    },
    save: () => [...byStep].map(([step, counts]) => [step, [...counts]]),
  };
}
