import { expect, test } from "vitest";
import { configMapKind } from "../../api/kinds/core/config-map/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { unparsedSpec } from "../../api/meta/lazy-spec.ts";
import type { KubeObject, Pod } from "../../api/meta/objects.ts";
import { cachedKind, encodeStored } from "./cached-object.ts";
import { createKindCache } from "./kind-cache.ts";

const kind = cachedKind(configMapKind.resource);

function entry(name: string, revision: number) {
  const value = Buffer.from(
    encodeStored({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "a" } }),
  );
  return { key: `/registry/core/configmaps/a/${name}`, value, revision };
}

test("objects are in key order, with their revision in the JSON", () => {
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

test("a page of changes ends with the last change of a revision", () => {
  const cache = createKindCache(kind, 1);
  for (const [name, revision] of [
    ["a", 2],
    ["b", 3],
    ["c", 3],
    ["d", 4],
  ] as const)
    cache.put(entry(name, revision), revision);
  expect(cache.changesAfter(1, 2)?.map((change) => change.revision)).toEqual([2, 3, 3]);
  expect(cache.changesAfter(3, 2)?.map((change) => change.revision)).toEqual([4]);
  expect(cache.changeCount()).toBe(4);
});

test("changes after a revision are kept, with the previous objects", () => {
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

test("drops old changes and reports that they are missing", () => {
  const cache = createKindCache(kind, 1);
  for (let revision = 2; revision < 5_002; revision++) cache.put(entry("a", revision), revision);
  expect(cache.changesAfter(1)).toBeUndefined();
  const kept = cache.changesAfter(4_500) ?? [];
  expect(cache.changesAfter(4_500, 3)?.map((change) => change.revision)).toEqual([4_501, 4_502, 4_503]);
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

const cachedPods = cachedKind(podKind.resource, {
  "spec.nodeName": (pod: Pod) => pod.spec?.nodeName ?? "",
  "status.phase": (pod: Pod) => pod.status?.phase ?? "",
} as Record<string, (object: KubeObject) => string>);

function podOn(nodeName: string, revision: number) {
  const pod: Pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "a" } },
    ...{ spec: { nodeName, containers: [] }, status: { phase: "Pending" } },
  };
  return { pod, key: "/registry/core/pods/a/p", value: Buffer.from(encodeStored(pod)), revision };
}

test.each([
  ["of these bytes, its object is not parsed again", true, "written"],
  ["of other bytes, the bytes count", false, "stored"],
])("notifies watchers of a pending write: %s", (_, sameBytes, node) => {
  const cache = createKindCache(cachedPods, 1);
  const notified: string[] = [];
  for (const nodeName of ["written", "stored"])
    cache.watch({ kind: "node", nodeName }, () => notified.push(nodeName));
  const stored = podOn("stored", 2);
  const written = podOn("written", 2).pod;
  const value = sameBytes ? stored.value : Buffer.from(stored.value);
  const untrack = cache.trackPendingWrite(stored.key, { value, object: written });
  cache.put(stored, 2);
  untrack();
  cache.put({ ...stored, revision: 3 }, 3);
  expect(notified).toEqual(sameBytes ? [node, "written", "stored"] : [node, "stored"]);
});

test("a status update keeps the node of the pod without parsing its spec", () => {
  const cache = createKindCache(cachedPods, 1);
  cache.watch({ kind: "node", nodeName: "n" }, () => {});
  cache.put(podOn("n", 2), 2);
  const next = cache.get(podOn("n", 2).key)?.parseButSpec() as Pod;
  next.status = { phase: "Running" };
  const written = { ...podOn("n", 3), value: Buffer.from(encodeStored(next)) };
  const untrack = cache.trackPendingWrite(written.key, { value: written.value, object: next });
  cache.put(written, 3);
  untrack();
  const { fields } = cache.get(written.key)?.facts() ?? {};
  expect(fields).toMatchObject({ "spec.nodeName": "n", "status.phase": "Running" });
  expect(unparsedSpec(next)).toBe('{"nodeName":"n","containers":[]}');
});
