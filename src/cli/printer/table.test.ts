import { expect, test } from "vitest";
import { formatTable } from "./table.ts";

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
