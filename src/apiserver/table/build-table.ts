import { invalid } from "../../api/field-error.ts";
import type { KubeObject, ObjectMeta } from "../../api/objects.ts";
import { badRequest } from "../../api/status-error.ts";
import type { Cell, ColumnDefinition, RowCondition, TableLayout } from "./table-layout.ts";

/** How much of each object comes with its row. */
export type IncludeObject = "None" | "Metadata" | "Object";

export interface TableOptions {
  readonly now: number;
  readonly includeObject?: IncludeObject;
  readonly noHeaders?: boolean;
  readonly metaVersion?: "v1" | "v1beta1";
  /** Of the list that is shown: resourceVersion, continue, remainingItemCount. */
  readonly metadata?: object;
}

export interface Table {
  readonly kind: "Table";
  readonly apiVersion: string;
  readonly metadata: object;
  /** Null where a client has them already. */
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

/** Objects may come from a generator: each is looked at once. */
export function buildTable(layout: TableLayout, objects: Iterable<KubeObject>, options: TableOptions): Table {
  const rows: Row[] = [];
  for (const object of objects) {
    const conditions = layout.conditions?.(object);
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

/** A table of one row for each event of a watch. Only the first has the column definitions. */
export function createTableEvents(
  layout: TableLayout,
  options: Pick<TableOptions, "includeObject" | "metaVersion">,
): (object: KubeObject, now: number) => Table {
  let noHeaders = false;
  return (object, now) => {
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    const table = buildTable(layout, [object], { ...options, now, noHeaders, metadata });
    noHeaders = true;
    return table;
  };
}

export function toPartialMetadata(
  { metadata }: Pick<KubeObject, "metadata">,
  options: Pick<TableOptions, "metaVersion"> = {},
): PartialObjectMetadata {
  return { kind: "PartialObjectMetadata", apiVersion: metaApiVersion(options), metadata };
}

/** Reads `?includeObject=`; throws a bad request for anything but its three words. */
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
      // The bookmark that ends the first events of a watch is known by an annotation: it must get through.
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
