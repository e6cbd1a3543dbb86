import { expect, test } from "vitest";
import { rowAfterKey, scrollToRow, virtualWindow } from "./virtual-window.ts";

test.each([
  { name: "the top", scrollTop: 0, count: 5_000, first: 0, end: 12 },
  { name: "the middle", scrollTop: 1_005, count: 5_000, first: 98, end: 113 },
  { name: "the end", scrollTop: 49_900, count: 5_000, first: 4_988, end: 5_000 },
  { name: "a short list", scrollTop: 0, count: 3, first: 0, end: 3 },
  { name: "no rows", scrollTop: 0, count: 0, first: 0, end: 0 },
  { name: "a list that became shorter", scrollTop: 49_900, count: 20, first: 8, end: 20 },
  { name: "pulled over the top", scrollTop: -80, count: 50, first: 0, end: 12 },
])("$name", ({ scrollTop, count, first, end }) => {
  expect(virtualWindow({ scrollTop, viewHeight: 100, rowHeight: 10, count, spare: 2 })).toEqual({
    first,
    end,
  });
});

test.each([
  { index: 0, scrollTop: 50, to: 0 },
  { index: 7, scrollTop: 50, to: 50 },
  { index: 30, scrollTop: 50, to: 210 },
])("row $index is seen at $to", ({ index, scrollTop, to }) => {
  expect(scrollToRow(index, { scrollTop, viewHeight: 100, rowHeight: 10 })).toBe(to);
});

test.each([
  { key: "ArrowDown", index: -1, to: 0 },
  { key: "ArrowDown", index: 9, to: 9 },
  { key: "ArrowUp", index: -1, to: 0 },
  { key: "PageDown", index: 2, to: 6 },
  { key: "PageUp", index: 2, to: 0 },
  { key: "End", index: 2, to: 9 },
  { key: "x", index: 2, to: undefined },
])("$key at row $index of 10 leads to $to", ({ key, index, to }) => {
  expect(rowAfterKey(key, { index, count: 10, page: 4 })).toBe(to);
});
