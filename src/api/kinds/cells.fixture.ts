import type { KubeObject } from "../meta/objects.ts";
import { scaleColumns } from "./apps/workload.ts";
import { builtInKinds } from "./built-in-kinds.ts";
import type { Column } from "./columns.ts";

const now = Date.parse("2026-01-01T01:00:00Z");
/** One hour before the time that `cellsOf` uses. */
export const createdAt = "2026-01-01T00:00:00Z";

export function columnsOf(kind: string): readonly Column[] {
  // Scale is served as a subresource only.
  if (kind === "Scale") return scaleColumns as readonly Column[];
  const definition = builtInKinds.find(({ resource }) => resource.kind === kind);
  if (!definition) throw new Error(`there is no kind ${kind}`);
  return definition.columns;
}

/** Cells of an object named `x`, including the wide columns. */
export function cellsOf(kind: string, fields: object, metadata: KubeObject["metadata"] = {}): unknown[] {
  const object = {
    kind,
    apiVersion: "v1",
    metadata: { name: "x", creationTimestamp: createdAt, ...metadata },
    ...fields,
  };
  return columnsOf(kind).map((column) => column.cell(object, now));
}
