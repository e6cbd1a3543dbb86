import { ageOf } from "../../lib/human-duration.ts";
import type { KubeObject, LabelSelector } from "../meta/objects.ts";

/** Printed columns of one kind, including those of `-o wide`. */
export interface TableLayout<T extends KubeObject = KubeObject> {
  readonly columns: readonly Column<T>[];
  /** Conditions of a row. Clients hide rows with the condition `Completed`. */
  rowConditions?(object: Sparse<T>): readonly RowCondition[] | undefined;
}

export interface Column<T extends KubeObject = KubeObject> {
  readonly definition: ColumnDefinition;
  cell(object: Sparse<T>, now: number): Cell;
}

/** An object of which only the metadata is guaranteed: bookmarks of a watch have nothing else. */
export type Sparse<T extends KubeObject> = KubeObject & Partial<Omit<T, keyof KubeObject>>;

/** Null for a column of a custom resource without a value. */
export type Cell = string | number | boolean | null;

/** A column definition in its wire form, in which no field is omitted. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  /** 0: always printed; 1: printed with `-o wide`. */
  readonly priority: number;
}

export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

type CellOf<T extends KubeObject> = Column<T>["cell"];

export function column<T extends KubeObject>(
  name: string,
  description: string,
  cell: CellOf<T>,
  options: Partial<ColumnDefinition> = {},
): Column<T> {
  return { definition: { name, type: "string", format: "", description, priority: 0, ...options }, cell };
}

/** A column that is printed with `-o wide` only. */
export function wideColumn<T extends KubeObject>(
  name: string,
  description: string,
  cell: CellOf<T>,
): Column<T> {
  return column(name, description, cell, { priority: 1 });
}

export function integerColumn<T extends KubeObject>(
  name: string,
  description: string,
  cell: CellOf<T>,
): Column<T> {
  return column(name, description, cell, { type: "integer" });
}

export const nameColumn = column("Name", "Name of the object", ({ metadata }) => metadata.name ?? "", {
  format: "name",
});

export const ageColumn = column("Age", "Time since the object was created", ({ metadata }, now) =>
  ageOf(metadata.creationTimestamp, now),
);

/** Columns of kinds that declare none. Upstream prints roles like this. */
export const defaultColumns: readonly Column[] = [
  nameColumn,
  column(
    "Created At",
    "When the object was created",
    ({ metadata }) => metadata.creationTimestamp ?? "0001-01-01T00:00:00Z",
    { type: "date" },
  ),
];

/** `a,b,c + 2 more...` */
export function firstThree(items: readonly string[]): string {
  const shown = items.slice(0, 3).join(",");
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown;
}

/** `app=web,tier=front`, or `<none>`. */
export function formatLabels(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`);
  return pairs.join(",") || "<none>";
}

const spellings: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** `app=web,tier in (a,b),!old`: requirements by key, their values sorted. Empty for a selector without any. */
export function formatSelector(selector: LabelSelector | undefined): string {
  const requirements = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const text = spellings[operator]?.(key, [...values].sort().join(","));
    if (text !== undefined) requirements.push({ key, text });
  }
  return requirements
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(",");
}
