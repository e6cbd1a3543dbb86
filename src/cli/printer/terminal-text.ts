import { humanDuration } from "../../lib/human-duration.ts";

const codes = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", cyan: "36" } as const;

export type Tone = keyof typeof codes;
export type Paint = (tone: Tone, text: string) => string;

export interface ScreenOptions {
  readonly columns: number;
  readonly color: boolean;
}

/** Creates a function that colors text, or returns it unchanged without colors. */
export function painter(color: boolean): Paint {
  return (tone, text) => (color && text !== "" ? `\x1b[${codes[tone]}m${text}\x1b[0m` : text);
}

/** Whether to use colors for this output. */
export function wantsColor({ isTTY }: { readonly isTTY?: boolean }): boolean {
  return isTTY === true && !process.env.NO_COLOR;
}

/** Wraps text at spaces. A word longer than the width gets its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of printable(text).split(/\s+/)) {
    if (line && columnsOf(line) + columnsOf(word) + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return line ? [...lines, line] : lines;
}

/** Removes control and bidirectional characters, so that texts of pods cannot manipulate the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** Width of a text on a terminal: color codes have no width, East Asian characters and emoji have two columns. */
export function columnsOf(text: string): number {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape begins a colour
  const plain = text.replaceAll(/\x1b\[[0-9;]*m/g, "");
  let columns = 0;
  for (const character of plain) {
    if (/\p{Mark}/u.test(character)) continue;
    columns += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}]/u.test(
      character,
    )
      ? 2
      : 1;
  }
  return columns;
}

/** Cuts text without colors to a number of columns; `…` replaces what is cut off. */
export function cutTo(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += columnsOf(character);
    if (used > columns - 1) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** `1 pod`, `3 pods`. */
export function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

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

/** Age of a time, at least 0: the clock of the node may be ahead. */
export function ageOf(since: string, now: number): string {
  return humanDuration(Math.max(0, now - Date.parse(since)));
}

/** Output stream: a terminal, a pipe or a file. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

interface Redraw {
  /** Replaces the previous drawing. The last one stays on the screen. */
  draw(lines: readonly string[]): void;
}

/** Creates a drawing on a terminal that is updated in place. */
export function createRedraw(output: Output): Redraw {
  let drawn: readonly string[] = [];
  return {
    draw(lines) {
      const columns = output.columns || 80;
      const fitting = fitTo(lines, { columns, rows: (output.rows || 24) - 1 });
      // Computed with the current width, because a terminal that became narrower has wrapped the lines.
      const rows = rowsOf(drawn, columns);
      const up = rows > 0 ? `\x1b[${rows}A\r` : "";
      // The old drawing is cleared in the same write, which avoids flicker and remains of longer lines.
      output.write(`${up}\x1b[J${fitting.map((line) => `${line}\n`).join("")}`);
      drawn = fitting;
    },
  };
}

/** Truncates the lines to the screen, because the cursor cannot return to lines that have scrolled off. */
function fitTo(
  lines: readonly string[],
  { columns, rows }: { columns: number; rows: number },
): readonly string[] {
  let left = rows;
  const end = lines.findIndex((line) => {
    left -= rowsOf([line], columns);
    return left < 0;
  });
  return end < 0 ? lines : lines.slice(0, end);
}

function rowsOf(lines: readonly string[], columns: number): number {
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(columnsOf(line) / columns)), 0);
}
