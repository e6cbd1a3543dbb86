import { expect, test } from "vitest";
import { createSortedKeys } from "./sorted-keys.ts";

test("iterates keys in order from a start key", () => {
  const keys = createSortedKeys();
  for (const key of ["b", "d", "a", "c", "b"]) keys.insert(key);
  expect([...keys.from("")]).toEqual(["a", "b", "c", "d"]);
  expect([...keys.from("b")]).toEqual(["b", "c", "d"]);
  expect([...keys.from("bb")]).toEqual(["c", "d"]);
  expect([...keys.from("e")]).toEqual([]);
});

test("removing a missing key changes nothing", () => {
  const keys = createSortedKeys();
  for (const key of ["a", "c"]) keys.insert(key);
  keys.remove("b");
  keys.remove("a");
  expect([...keys.from("")]).toEqual(["c"]);
});

test("many keys, inserted and removed at random, remain a sorted set", () => {
  const keys = createSortedKeys();
  const model = new Set<string>();
  let seed = 1;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed;
  };
  for (let i = 0; i < 20_000; i++) {
    const key = String(random() % 5_000);
    if (random() % 3 === 0) {
      keys.remove(key);
      model.delete(key);
    } else {
      keys.insert(key);
      model.add(key);
    }
  }
  const sorted = [...model].sort();
  expect([...keys.from("")]).toEqual(sorted);
  expect([...keys.from("3")]).toEqual(sorted.filter((key) => key >= "3"));
  for (const key of sorted) keys.remove(key);
  expect([...keys.from("")]).toEqual([]);
  keys.insert("again");
  expect([...keys.from("")]).toEqual(["again"]);
});
