import { expect, test } from "vitest";
import { createSortedKeys } from "./sorted-keys.ts";

test("keys come out in order from where they are asked for", () => {
  const keys = createSortedKeys();
  for (const key of ["b", "d", "a", "c", "b"]) keys.insert(key);
  expect([...keys.from("")]).toEqual(["a", "b", "c", "d"]);
  expect([...keys.from("b")]).toEqual(["b", "c", "d"]);
  expect([...keys.from("bb")]).toEqual(["c", "d"]);
  expect([...keys.from("e")]).toEqual([]);
});

test("removing a key that is not there changes nothing", () => {
  const keys = createSortedKeys();
  for (const key of ["a", "c"]) keys.insert(key);
  keys.remove("b");
  keys.remove("a");
  expect([...keys.from("")]).toEqual(["c"]);
  expect(keys.size()).toBe(1);
});
