import { columnsOf, painter } from "./terminal-text.ts";

/** Rows under a header, columns padded to their widest cell; no trailing blanks. Cells may have colours. */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { color = false }: { readonly color?: boolean } = {},
): string {
  const paint = painter(color);
  const all = [header.map((cell) => paint("bold", cell)), ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => columnsOf(row[column] ?? ""))));
  const last = header.length - 1;
  const pad = (cell: string, column: number) =>
    column === last ? cell : cell + " ".repeat((widths[column] ?? 0) - columnsOf(cell));
  return all.map((row) => `${row.map(pad).join("   ").trimEnd()}\n`).join("");
}
