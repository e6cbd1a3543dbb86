import { expect, test } from "vitest";
import { rankBreaches } from "./rank-breaches.ts";

const of = (dimension: string, value: string, bad: number, total: number) => ({
  dimension,
  value,
  bad,
  total,
});

test.each([
  [
    "the plugin that fails comes before the namespaces, nodes and owners that use it",
    [
      of("namespace", "shop", 10, 40),
      of("StorageClass", "broken", 10, 10),
      of("StorageClass", "<none>", 0, 90),
      of("node", "node-1", 2, 20),
      of("RuntimeClass", "<none>", 10, 100),
    ],
    10,
    ["StorageClass broken", "namespace shop", "RuntimeClass <none>", "node node-1"],
  ],
  [
    "the node that fails comes before the class that fails there only",
    [of("StorageClass", "fast", 9, 90), of("node", "node-3", 9, 9), of("node", "node-1", 1, 45)],
    10,
    ["node node-3", "StorageClass fast", "node node-1"],
  ],
  [
    "what tells as much stays as it came",
    [of("StorageClass", "broken", 5, 5), of("namespace", "shop", 5, 5)],
    5,
    ["StorageClass broken", "namespace shop"],
  ],
  ["nothing is bad", [of("node", "node-1", 0, 5)], 0, []],
])("3085-13: %s", (_, classes, allBad, ranked) => {
  expect(rankBreaches(classes, allBad).map(({ dimension, value }) => `${dimension} ${value}`)).toEqual(
    ranked,
  );
});
