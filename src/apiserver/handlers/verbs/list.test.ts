import { expect, test } from "vitest";
import { createWeakCache } from "./list.ts";

test("finds a value by its key while it is in use, and the newest value of a key", () => {
  const cache = createWeakCache<{ name: string }>();
  const first = { name: "first" };
  cache.set("key", first);
  expect(cache.get("key")).toBe(first);
  expect(cache.get("other")).toBeUndefined();
  const second = { name: "second" };
  cache.set("key", second);
  expect(cache.get("key")).toBe(second);
});
