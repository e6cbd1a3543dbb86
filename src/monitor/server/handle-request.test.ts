import { expect, test } from "vitest";
import { splitText } from "./handle-request.ts";

test.each([
  ["short", ["short"]],
  ["abcdefghij", ["abcdefgh", "ij"]],
  ["abcdefg😀hi", ["abcdefg😀", "hi"]],
  ["abcdef😀hi", ["abcdef😀", "hi"]],
  ["", []],
])("splits %s into pieces without cutting surrogate pairs", (text, pieces) => {
  expect([...splitText(text, 8)]).toEqual(pieces);
});
