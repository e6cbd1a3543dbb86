import { columnsOf } from "./terminal-text.ts";

/** A terminal, a pipe or a file. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

interface Redraw {
  /** Over what was drawn before; nothing takes that away. */
  draw(lines: readonly string[]): void;
}

/** A picture on a terminal that changes in its place. */
export function createRedraw(output: Output): Redraw {
  let drawn: readonly string[] = [];
  return {
    draw(lines) {
      const columns = output.columns || 80;
      const fitting = fitTo(lines, { columns, rows: (output.rows || 24) - 1 });
      // In today's width: a terminal that was made narrower has wrapped what was there.
      const rows = rowsOf(drawn, columns);
      const up = rows > 0 ? `\x1b[${rows}A\r` : "";
      // All of the old picture goes first, in the same write: no line of it shows behind a shorter one.
      output.write(`${up}\x1b[J${fitting.map((line) => `${line}\n`).join("")}`);
      drawn = fitting;
    },
  };
}

/** No more than the screen shows: the cursor cannot go back to what has scrolled away. */
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
