/**
 * What a person sees: a terminal's screen with all that has scrolled away above it. It knows what our printers use
 * (carriage return, line feed, cursor up, erase below and to the right, colours, wrapping at the right edge) and throws
 * on anything else: a new escape sequence needs a look here.
 */
export interface Screen {
  write(text: string): void;
  /** All lines with their last content, without trailing blanks. */
  lines(): readonly string[];
}

export function createScreen({ columns, rows }: { columns: number; rows: number }): Screen {
  const grid: string[][] = [[]];
  /** First line of the screen; earlier lines have scrolled away and cannot be overwritten. */
  let top = 0;
  let line = 0;
  let column = 0;
  let pending = "";

  const lineAt = (index: number): string[] => {
    while (grid.length <= index) grid.push([]);
    const found = grid[index];
    if (!found) throw new Error("there is no such line");
    return found;
  };
  const down = () => {
    line++;
    lineAt(line);
    if (line >= top + rows) top = line - rows + 1;
  };
  const put = (character: string) => {
    if (column >= columns) {
      column = 0;
      down();
    }
    const cells = lineAt(line);
    while (cells.length < column) cells.push(" ");
    cells[column++] = character;
  };
  const obey = (parameters: string, command: string) => {
    if (command === "m" || (parameters.startsWith("?") && "hl".includes(command))) return;
    if (command === "A") line = Math.max(top, line - Number(parameters || 1));
    else if (command === "K" && parameters === "")
      lineAt(line).length = Math.min(lineAt(line).length, column);
    else if (command === "J" && parameters === "") {
      lineAt(line).length = Math.min(lineAt(line).length, column);
      grid.length = line + 1;
    } else throw new Error(`the screen does not know ESC [ ${parameters} ${command}`);
  };

  return {
    write(text) {
      let rest = pending + text;
      pending = "";
      while (rest !== "") {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: escapes begin with it
        const sequence = /^\x1b\[([0-9;?]*)([A-Za-z])/.exec(rest);
        if (sequence) {
          obey(sequence[1] ?? "", sequence[2] ?? "");
          rest = rest.slice(sequence[0].length);
          continue;
        }
        if (rest.startsWith("\x1b")) {
          // The rest is in the next chunk.
          pending = rest;
          return;
        }
        const [character = ""] = rest;
        rest = rest.slice(character.length);
        if (character === "\n") down();
        else if (character === "\r") column = 0;
        else if (character < " ") throw new Error(`the screen does not know ${JSON.stringify(character)}`);
        else put(character);
      }
    },
    lines: () => grid.map((cells) => cells.join("").trimEnd()),
  };
}
