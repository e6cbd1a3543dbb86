import { ageOf } from "../../../lib/human-duration.ts";
import type { PrinterColumn } from "../../custom/custom-resource-definition.ts";
import { compileJsonPath } from "../../custom/json-path.ts";
import { ageColumn, type Cell, type Column, column, nameColumn } from "../columns.ts";

/** Columns of a custom resource. Without columns in its definition, it has an Age. */
export function customColumns(columns: readonly PrinterColumn[] | undefined): readonly Column[] {
  if (!columns || columns.length === 0) return [nameColumn, dateColumn(ageColumn)];
  const own: Column[] = [];
  for (const { name, type, jsonPath, format = "", description, priority = 0 } of columns) {
    const path = compileJsonPath(jsonPath);
    // As upstream, a path that cannot be parsed ends the list of columns.
    if (!path) break;
    const about = description || `Custom resource definition column (in JSONPath format): ${jsonPath}`;
    const cell: Column["cell"] = (object, now) => {
      const [value] = path(object);
      return value === undefined ? null : cellOf(type, value, now);
    };
    own.push(column(name, about, cell, { type: type as Column["definition"]["type"], format, priority }));
  }
  return [nameColumn, ...own];
}

function dateColumn(age: Column): Column {
  return { ...age, definition: { ...age.definition, type: "date" } };
}

function cellOf(type: string, value: unknown, now: number): Cell {
  if (value === null) return type === "string" ? "" : null;
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      if (typeof value !== "string") return null;
      return Number.isNaN(Date.parse(value)) ? "<invalid>" : ageOf(value, now);
    default:
      return typeof value === "object" ? JSON.stringify(value) : String(value);
  }
}
