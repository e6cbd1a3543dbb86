import { expect, test } from "vitest";
import { formatTable } from "./terminal-text.ts";

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
