import { median } from "./median.ts";

/** Measures one contestant in one round; higher is better. */
type Measure = () => Promise<number>;

export interface Comparison {
  /** Name and unit of the measured quantity. */
  name: string;
  unit: string;
  /** Measures by contestant, in the order of the columns. */
  measures: Record<string, Measure>;
}

/** Medians of each comparison by contestant. */
export type Results = { name: string; unit: string; medians: Record<string, number> }[];

/**
 * Runs every measure once per round. The first contestant alternates, so that other load on the machine affects all of them
 * equally.
 */
export async function runComparisons(
  comparisons: readonly Comparison[],
  { rounds, onProgress }: { rounds: number; onProgress?: (line: string) => void },
): Promise<Results> {
  const samples = comparisons.map(() => new Map<string, number[]>());
  for (let round = 0; round < rounds; round++) {
    for (const [i, { name, measures }] of comparisons.entries()) {
      const contestants = Object.entries(measures);
      for (let turn = 0; turn < contestants.length; turn++) {
        const [contestant, measure] = contestants[(turn + round) % contestants.length] ?? [];
        if (!contestant || !measure) continue;
        const result = await measure();
        onProgress?.(`round ${round + 1} of ${rounds}: ${name}, ${contestant}: ${formatNumber(result)}`);
        const before = samples[i]?.get(contestant) ?? [];
        samples[i]?.set(contestant, [...before, result]);
      }
    }
  }
  return comparisons.map(({ name, unit }, i) => ({
    name,
    unit,
    medians: Object.fromEntries([...(samples[i] ?? [])].map(([who, values]) => [who, median(values)])),
  }));
}

export function formatNumber(value = Number.NaN): string {
  if (Number.isNaN(value)) return "-";
  return Number.isInteger(value) || value >= 100
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(3);
}

export function formatRatio(value = Number.NaN, to = Number.NaN): string {
  const ratio = value / to;
  return Number.isNaN(ratio) ? "-" : `${ratio.toFixed(2)}x`;
}
