import { expect, test } from "vitest";
import { readManifest } from "./create-test-client.ts";

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };

test.each([
  ["one document", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}", ["pods"]],
  [
    "several, one empty",
    "---\n---\napiVersion: v1\nkind: Pod\n---\napiVersion: apps/v1\nkind: Deployment",
    ["pods", "deployments"],
  ],
  ["JSON", JSON.stringify(pod), ["pods"]],
  ["a list", { apiVersion: "v1", kind: "List", items: [pod, pod] }, ["pods", "pods"]],
  ["an object", pod, ["pods"]],
  ["objects", [pod, pod], ["pods", "pods"]],
  ["nothing", "", []],
])("%s", (_name, manifest, plurals) => {
  expect(readManifest(manifest).map(({ resource }) => resource.plural)).toEqual(plurals);
});

test.each([
  ["kind: [", /^the manifest is not YAML/],
  ["just text", /^document 1 is not an object/],
  ["kind: Pod", /^document 1: apiVersion and kind must be set/],
  ["apiVersion: v1\nkind: Pot", /^document 1: kind Pot does not exist in v1/],
  [{ apiVersion: "v1", kind: "List", items: [pod, "x"] }, /^document 1, items\[1\] is not an object/],
  [{ apiVersion: "v1", kind: "List" }, /^document 1: items of a List must be set/],
])("rejects %j", (manifest, message) => {
  expect(() => readManifest(manifest)).toThrow(message);
});
