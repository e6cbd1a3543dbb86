import { expect, test } from "vitest";
import { piecesOf } from "./send-feed.ts";

test.each([
  ["short", ["short"]],
  ["abcdefghij", ["abcdefgh", "ij"]],
  ["abcdefg😀hi", ["abcdefg😀", "hi"]],
  ["abcdef😀hi", ["abcdef😀", "hi"]],
  ["", []],
])("%s is sent in pieces of whole characters", (text, pieces) => {
  expect([...piecesOf(text, 8)]).toEqual(pieces);
});
