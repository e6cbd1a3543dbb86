import type { KubeObject } from "../../api/objects.ts";
import { resources } from "../../api/resources.ts";
import { buildTable } from "./build-table.ts";
import { tableFor } from "./table-for.ts";
import type { TableLayout } from "./table-layout.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
/** An hour ago, by the clock of `cellsOf`. */
export const createdAt = "2026-01-01T00:00:00Z";

export function tableOfKind(kind: string): TableLayout {
  // Scales are in no list of their own.
  return tableFor(resources.find((resource) => resource.kind === kind) ?? { group: "autoscaling", kind });
}

/** The row of an object `x`, the wide columns too. */
export function cellsOf(kind: string, fields: object, metadata: KubeObject["metadata"] = {}): unknown[] {
  const object = {
    kind,
    apiVersion: "v1",
    metadata: { name: "x", creationTimestamp: createdAt, ...metadata },
    ...fields,
  };
  return [...(buildTable(tableOfKind(kind), [object], { now }).rows[0]?.cells ?? [])];
}
