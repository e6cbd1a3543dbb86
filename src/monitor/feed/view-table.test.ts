import { expect, test } from "vitest";
import { createViewTable } from "./view-table.ts";

test("reports each new, changed or deleted view once", () => {
  const table = createViewTable();
  table.set("a", { n: 1 });
  table.set("b", { n: 2 });
  expect(table.takeChanges()).toEqual({ changed: ['{"n":1}', '{"n":2}'], gone: [] });
  table.set("a", { n: 1 });
  expect(table.takeChanges()).toEqual({ changed: [], gone: [] });
  table.set("a", { n: 3 });
  table.delete("b");
  table.delete("never there");
  expect(table.takeChanges()).toEqual({ changed: ['{"n":3}'], gone: ["b"] });
  expect([...table.texts()]).toEqual(['{"n":3}']);
});

test("reports only the final state of views that changed repeatedly", () => {
  const table = createViewTable();
  table.set("a", 1);
  table.set("b", 1);
  table.takeChanges();
  table.delete("a");
  table.set("a", 1);
  table.set("b", 2);
  table.delete("b");
  expect(table.takeChanges()).toEqual({ changed: ["1"], gone: ["b"] });
  table.clear();
  expect(table.takeChanges()).toEqual({ changed: [], gone: [] });
  expect(table.size()).toBe(0);
});
