import { expect, test } from "vitest";
import type { KubeObject, Pod } from "../../api/objects.ts";
import { findResource, type Resource } from "../../api/resources.ts";
import { unparsedSpec } from "../registry/lazy-spec.ts";
import { encodeStored } from "../registry/stored-object.ts";
import { cachedKind } from "./cached-object.ts";
import { createKindCache } from "./kind-cache.ts";

const kind = cachedKind(findResource("", "v1", "configmaps") as Resource);

function entry(name: string, revision: number) {
  const value = Buffer.from(
    encodeStored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "a" } }),
  );
  return { key: `/registry/core/configmaps/a/${name}`, value, revision };
}

test("objects come in key order, with their revision in the JSON", () => {
  const cache = createKindCache(kind, 1);
  for (const [i, name] of ["c", "a", "b"].entries()) cache.put(entry(name, i + 2), i + 2);
  const objects = [...cache.range("/registry/core/configmaps/a/")];
  expect(objects.map((object) => object.parse().metadata)).toEqual([
    { resourceVersion: "3", name: "a", namespace: "a" },
    { resourceVersion: "4", name: "b", namespace: "a" },
    { resourceVersion: "2", name: "c", namespace: "a" },
  ]);
  expect([...cache.range("/registry/core/configmaps/a/", objects[0]?.key)]).toHaveLength(2);
  expect(cache.countAfter("/registry/core/configmaps/", objects[1]?.key ?? "")).toBe(1);
});

test("changes after a revision are kept, with what was there before", () => {
  const cache = createKindCache(kind, 10);
  cache.put(entry("a", 11), 11);
  cache.put(entry("a", 12), 12);
  cache.remove("/registry/core/configmaps/a/a", 13);
  const changes = cache.changesAfter(11) ?? [];
  expect(changes.map(({ revision, before, after }) => [revision, before?.revision, after?.revision])).toEqual(
    [
      [12, 11, 12],
      [13, 12, undefined],
    ],
  );
  expect(cache.changesAfter(13)).toEqual([]);
  expect(cache.changesAfter(9)).toBeUndefined();
});

test("old changes are forgotten, and it is known that they are", () => {
  const cache = createKindCache(kind, 1);
  for (let revision = 2; revision < 5_002; revision++) cache.put(entry("a", revision), revision);
  expect(cache.changesAfter(1)).toBeUndefined();
  const kept = cache.changesAfter(4_500) ?? [];
  expect(kept.map((change) => change.revision)).toEqual(Array.from({ length: 501 }, (_, i) => 4_501 + i));
});

test("the JSON of a deleted object carries the revision of the deletion", () => {
  const cache = createKindCache(kind, 1);
  cache.put(entry("a", 2), 2);
  const object = cache.get("/registry/core/configmaps/a/a");
  expect(JSON.parse(object?.jsonDeletedAt(1_000) ?? "").metadata.resourceVersion).toBe("1000");
  expect(object?.isStoredAs(entry("a", 2).value.toString())).toBe(true);
  expect(object?.isStoredAs(entry("b", 2).value.toString())).toBe(false);
});

const podKind = cachedKind(
  findResource("", "v1", "pods") as Resource,
  {
    "spec.nodeName": (pod: Pod) => pod.spec?.nodeName ?? "",
    "status.phase": (pod: Pod) => pod.status?.phase ?? "",
  } as Record<string, (object: KubeObject) => string>,
);

function podOn(nodeName: string, revision: number) {
  const pod: Pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "a" } },
    ...{ spec: { nodeName, containers: [] }, status: { phase: "Pending" } },
  };
  return { pod, key: "/registry/core/pods/a/p", value: Buffer.from(encodeStored(pod)), revision };
}

test.each([
  ["of these bytes, its object is not parsed again", true, "lent"],
  ["of other bytes, the bytes count", false, "stored"],
])("who is told of a write while a draft is on loan: %s", (_, sameBytes, node) => {
  const cache = createKindCache(podKind, 1);
  const heard: string[] = [];
  for (const nodeName of ["lent", "stored"])
    cache.watch({ kind: "node", nodeName }, () => heard.push(nodeName));
  const stored = podOn("stored", 2);
  const lent = podOn("lent", 2).pod;
  const value = sameBytes ? stored.value : Buffer.from(stored.value);
  const giveBack = cache.lend(stored.key, { value, object: lent });
  cache.put(stored, 2);
  giveBack();
  cache.put({ ...stored, revision: 3 }, 3);
  expect(heard).toEqual(sameBytes ? [node, "lent", "stored"] : [node, "stored"]);
});

test("a status that was written beside its spec is on the node of before, and nobody parses the spec", () => {
  const cache = createKindCache(podKind, 1);
  cache.watch({ kind: "node", nodeName: "n" }, () => {});
  cache.put(podOn("n", 2), 2);
  const next = cache.get(podOn("n", 2).key)?.parseButSpec() as Pod;
  next.status = { phase: "Running" };
  const written = { ...podOn("n", 3), value: Buffer.from(encodeStored(next)) };
  const giveBack = cache.lend(written.key, { value: written.value, object: next });
  cache.put(written, 3);
  giveBack();
  const { fields } = cache.get(written.key)?.facts() ?? {};
  expect(fields).toMatchObject({ "spec.nodeName": "n", "status.phase": "Running" });
  expect(unparsedSpec(next)).toBe('{"nodeName":"n","containers":[]}');
});
