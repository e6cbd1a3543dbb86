const codes = { bold: "1", dim: "2", red: "31", green: "32", yellow: "33", cyan: "36" } as const;

export type Tone = keyof typeof codes;
export type Paint = (tone: Tone, text: string) => string;

export interface ScreenOptions {
  readonly columns: number;
  readonly color: boolean;
}

/** Colours where they are wanted; the text as it is elsewhere. */
export function painter(color: boolean): Paint {
  return (tone, text) => (color && text !== "" ? `\x1b[${codes[tone]}m${text}\x1b[0m` : text);
}

/** Whether to colour what goes to this output. */
export function wantsColor({ isTTY }: { readonly isTTY?: boolean }): boolean {
  return isTTY === true && !process.env.NO_COLOR;
}

/** At spaces; a word that is longer than a line has one of its own. */
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

/** What a pod says must not move the cursor, change colours or turn the order of letters on somebody's terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

/** How many columns a text takes on a terminal: colours none, East Asian letters and emoji two. */
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
