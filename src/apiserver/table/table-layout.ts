import type { KubeObject } from "../../api/objects.ts";
import { ageOf } from "../../lib/human-duration.ts";

/** How objects of one kind are shown, column by column, those of `-o wide` too. */
export interface TableLayout<T extends KubeObject = KubeObject> {
  readonly columns: readonly Column<T>[];
  /** Sets finished objects apart, for clients that hide them. */
  conditions?(object: Sparse<T>): readonly RowCondition[] | undefined;
}

export interface Column<T extends KubeObject = KubeObject> {
  readonly definition: ColumnDefinition;
  cell(object: Sparse<T>, now: number): Cell;
}

/** Only the metadata is certain: the bookmarks of a watch have nothing else. */
export type Sparse<T extends KubeObject> = KubeObject & Partial<Omit<T, keyof KubeObject>>;

export type Cell = string | number | boolean;

/** As it goes over the wire: every field is always there. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  /** 0 is always shown, 1 with `-o wide`. */
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

/** A column that only `-o wide` shows. */
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
