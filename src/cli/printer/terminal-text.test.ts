import { expect, test } from "vitest";
import { createRedraw, formatTable } from "./terminal-text.ts";

test("columns are as wide as their widest cell and lines end without blanks", () => {
  expect(
    formatTable(
      ["NAME", "ON"],
      [
        ["a", "true"],
        ["longer", "no"],
      ],
    ),
  ).toBe("NAME     ON\na        true\nlonger   no\n");
});

test("colours do not count for the width, and are omitted if disabled", () => {
  const rows = [
    ["\x1b[32mon\x1b[0m", "x"],
    ["off", "\u65e5"],
  ];
  expect(formatTable(["A", "B"], rows, { color: true })).toBe(
    "\x1b[1mA\x1b[0m     \x1b[1mB\x1b[0m\n\x1b[32mon\x1b[0m    x\noff   \u65e5\n",
  );
  expect(formatTable(["A", "B"], [["on", "x"]])).toBe("A    B\non   x\n");
});

function terminal(columns: number, rows: number) {
  const written: string[] = [];
  const output = { columns, rows, isTTY: true, write: (text: string) => void written.push(text) };
  return { output, written };
}

test("the next frame overwrites the rows of the previous one", () => {
  const { output, written } = terminal(10, 24);
  const screen = createRedraw(output);
  screen.draw(["\x1b[1mone\x1b[0m", "longer than ten", "世界世界世界"]);
  screen.draw(["two"]);
  screen.draw([]);
  screen.draw(["three"]);
  expect(written).toEqual([
    "\x1b[J\x1b[1mone\x1b[0m\nlonger than ten\n世界世界世界\n",
    "\x1b[5A\r\x1b[Jtwo\n",
    "\x1b[1A\r\x1b[J",
    "\x1b[Jthree\n",
  ]);
});

test("rows that a narrower terminal has wrapped are counted", () => {
  const { output, written } = terminal(20, 24);
  const screen = createRedraw(output);
  screen.draw(["sixteen letters!"]);
  output.columns = 8;
  screen.draw(["x"]);
  expect(written[1]).toBe("\x1b[2A\r\x1b[Jx\n");
});

test("no more is drawn than the screen shows", () => {
  const { output, written } = terminal(10, 4);
  createRedraw(output).draw(["a", "longer than ten", "b", "c"]);
  expect(written).toEqual(["\x1b[Ja\nlonger than ten\n"]);
});
