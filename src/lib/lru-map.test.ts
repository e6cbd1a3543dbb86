import { expect, test } from "vitest";
import { createLruMap } from "./lru-map.ts";

test("evicts the least recently used entry", () => {
  const map = createLruMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([1, undefined, 3]);
  map.set("a", 4);
  map.set("d", 5);
  expect(["a", "c", "d"].map((key) => map.get(key))).toEqual([4, undefined, 5]);
});
