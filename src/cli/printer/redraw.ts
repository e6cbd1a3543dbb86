import { columnsOf } from "./terminal-text.ts";

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
