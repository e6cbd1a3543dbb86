import { expect, test } from "vitest";
import type { PersistentVolume } from "../../api/objects.ts";
import { isReachableFrom } from "./is-reachable-from.ts";

const node = { name: "n1", labels: { zone: "a", disks: "4" } };

function volume(...nodeSelectorTerms: object[]): PersistentVolume {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "pv" },
    spec: { nodeAffinity: { required: { nodeSelectorTerms } } },
  };
}

const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

test.each([
  ["no affinity", { apiVersion: "v1", kind: "PersistentVolume", metadata: {} }, true],
  ["In", volume(expression("zone", "In", "a", "b")), true],
  ["not In", volume(expression("zone", "In", "b")), false],
  ["NotIn", volume(expression("zone", "NotIn", "b")), true],
  ["Exists", volume(expression("zone", "Exists")), true],
  ["DoesNotExist", volume(expression("zone", "DoesNotExist")), false],
  ["Gt", volume(expression("disks", "Gt", "3")), true],
  ["Lt", volume(expression("disks", "Lt", "4")), false],
  ["an operator that is none", volume(expression("zone", "Near", "a")), false],
  ["one term of two", volume(expression("zone", "In", "b"), expression("zone", "In", "a")), true],
  ["an empty term", volume({}), false],
  ["no term", volume(), false],
  [
    "the node's name",
    volume({ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }),
    true,
  ],
  [
    "all of one term",
    volume({
      ...expression("zone", "In", "a"),
      matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }],
    }),
    false,
  ],
])("a volume's node affinity: %s", (_name, persistent, reachable) => {
  expect(isReachableFrom(persistent, node)).toBe(reachable);
});
