import { expect, test } from "vitest";
import { createRecentMap } from "./recent-map.ts";

test("a recent map forgets what was not used for longest", () => {
  const map = createRecentMap<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([1, undefined, 3]);
  map.set("a", 4);
  map.set("d", 5);
  expect(["a", "c", "d"].map((key) => map.get(key))).toEqual([4, undefined, 5]);
});
