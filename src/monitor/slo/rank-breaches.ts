import type { Counts } from "./windowed-counts.ts";

export interface Breach extends Counts {
  /** `StorageClass`, `node`, a label's key. */
  readonly dimension: string;
  readonly value: string;
}

/**
 * The classes that breaches come from, the most telling first: those of which most are bad and that most of the bad
 * ones are of. A plugin that fails all its pods comes before the namespace that holds them among others, and before
 * the one node of many on which it fails. Classes that tell as much stay in the order in which they came.
 */
export function rankBreaches(classes: readonly Breach[], allBad: number): Breach[] {
  const score = ({ bad, total }: Breach) => (bad / total) * (bad / allBad);
  return classes.filter(({ bad }) => bad > 0).sort((a, b) => score(b) - score(a) || b.bad - a.bad);
}
