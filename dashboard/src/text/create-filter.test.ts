import { expect, test } from "vitest";
import { createFilter } from "./create-filter.ts";

test.each([
  { filter: "", finds: true },
  { filter: "  ", finds: true },
  { filter: "web", finds: true },
  { filter: "shop/web", finds: true },
  { filter: "0 SHOP", finds: true },
  { filter: "web other", finds: false },
  { filter: ".*", finds: false },
])("'$filter' finds shop/web-0: $finds", ({ filter, finds }) => {
  expect(createFilter(filter)("shop/web-0")).toBe(finds);
});
