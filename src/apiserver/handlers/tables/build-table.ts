import type { Cell, ColumnDefinition, RowCondition, TableLayout } from "../../../api/kinds/columns.ts";
import { invalid } from "../../../api/meta/field-errors.ts";
import type { KubeObject, ObjectMeta } from "../../../api/meta/objects.ts";
import { badRequest } from "../../../api/meta/status-error.ts";

/** Part of each object that is included in its row. */
export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableOptions {
  readonly now: number;
  readonly includeObject?: IncludeObject;
  readonly noHeaders?: boolean;
  readonly metaVersion?: "v1" | "v1beta1";
  /** Metadata of the list: resourceVersion, continue, remainingItemCount. */
  readonly metadata?: object;
}

export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: object;
  /** Null if the client has received them already. */
  readonly columnDefinitions: readonly ColumnDefinition[] | null;
  readonly rows: readonly Row[];
}

interface Row {
  readonly cells: readonly Cell[];
  readonly conditions?: readonly RowCondition[];
  readonly object: KubeObject | PartialObjectMetadata | null;
}

export interface PartialObjectMetadata {
  readonly kind: "PartialObjectMetadata";
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

/** Builds a table. `objects` is iterated once, so that it may be a generator. */
export function buildTable(layout: TableLayout, objects: Iterable<KubeObject>, options: TableOptions): Table {
  const rows: Row[] = [];
  for (const object of objects) {
    const conditions = layout.rowConditions?.(object);
    rows.push({
      cells: layout.columns.map((column) => column.cell(object, options.now)),
      ...(conditions && { conditions }),
      object: rowObject(object, options),
    });
  }
  return {
    kind: "Table",
    apiVersion: metaApiVersion(options),
    metadata: options.metadata ?? {},
    columnDefinitions: options.noHeaders ? null : layout.columns.map(({ definition }) => definition),
    rows,
  };
}

/** Table with one row for an event of a watch. */
export function buildEventTable(
  layout: TableLayout,
  object: KubeObject,
  options: Omit<TableOptions, "metadata">,
): Table {
  const metadata = { resourceVersion: object.metadata.resourceVersion };
  return buildTable(layout, [object], { ...options, metadata });
}

export function toPartialMetadata(
  { metadata }: Pick<KubeObject, "metadata">,
  options: Pick<TableOptions, "metaVersion"> = {},
): PartialObjectMetadata {
  return { kind: "PartialObjectMetadata", apiVersion: metaApiVersion(options), metadata };
}

/** Parses `?includeObject=`. Throws 400 for unknown values. */
export function parseIncludeObject(value: string | null | undefined): IncludeObject {
  if (!value) return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  const { field, message } = invalid(
    "includeObject",
    value,
    "must be 'Metadata', 'Object', 'None', or empty",
  );
  throw badRequest(`Unable to convert to Table as requested: ${field}: ${message}`);
}

function rowObject(object: KubeObject, options: TableOptions): Row["object"] {
  switch (options.includeObject) {
    case "Object":
      return object;
    case "None":
      // The annotation marks the bookmark after the initial events of a watch, so it is kept.
      return object.metadata.annotations?.["k8s.io/initial-events-end"]
        ? toPartialMetadata(object, options)
        : null;
    default:
      return toPartialMetadata(object, options);
  }
}

function metaApiVersion({ metaVersion = "v1" }: Pick<TableOptions, "metaVersion">): string {
  return `meta.k8s.io/${metaVersion}`;
}
