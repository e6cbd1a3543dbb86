import { expect, test } from "vitest";
import { countByLabels } from "./count-by-labels.ts";

test("counts items by their labels and leaves out those without", () => {
  const items = [{ a: "x" }, { a: "y" }, undefined, { a: "x" }];
  expect([...countByLabels(items, (item) => item)]).toEqual([
    [{ a: "x" }, 2],
    [{ a: "y" }, 1],
  ]);
  expect([...countByLabels([], () => ({}))]).toEqual([]);
});
