import { labelOf } from "./node-info.ts";
import type { Snapshot } from "./snapshot.ts";

/** Numbers by topology: of each label key, what each of its values adds up to. */
export type TopologyTotals = Map<string, Map<string, number>>;

/** Adds a number to the topology that each node belongs to. */
export function addToTopologies(
  totals: TopologyTotals,
  topologyKey: string,
  given: {
    readonly perNode: ReadonlyMap<string, number>;
    readonly factor: number;
    readonly snapshot: Snapshot;
  },
): void {
  for (const [nodeName, count] of given.perNode) {
    const value = labelOf(given.snapshot.node(nodeName)?.labels, topologyKey);
    if (value === undefined) continue;
    const values = totals.get(topologyKey) ?? new Map<string, number>();
    totals.set(topologyKey, values);
    values.set(value, (values.get(value) ?? 0) + count * given.factor);
  }
}
