import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/meta/objects.ts";
import { createObjectCache } from "./object-cache.ts";

interface Version {
  uid?: string;
  node?: string;
}

function object(
  name: string,
  resourceVersion: string,
  { uid = `uid-${name}`, node }: Version = {},
): KubeObject {
  const labels = node ? { node } : undefined;
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace: "ns", name, uid, resourceVersion, labels } };
}

function createCache() {
  const log: string[] = [];
  const cache = createObjectCache<KubeObject>(
    { byNode: ({ metadata }) => (metadata.labels?.node ? [metadata.labels.node] : []) },
    (change) => {
      const from = change.kind === "changed" ? `${change.previous.metadata.resourceVersion}→` : "";
      log.push(
        `${change.kind} ${change.object.metadata.name} ${from}${change.object.metadata.resourceVersion}`,
      );
    },
  );
  const onNode = (node: string) => cache.byIndex("byNode", node).map(({ metadata }) => metadata.name);
  return { cache, log, onNode };
}

describe("an object cache", () => {
  test("emits additions, changes and deletions, and nothing for unchanged versions", () => {
    const { cache, log } = createCache();
    cache.put(object("a", "1"));
    cache.put(object("a", "1"));
    cache.put(object("a", "2"));
    cache.remove(object("a", "3"));
    cache.remove(object("a", "3"));
    expect(log).toEqual(["added a 1", "changed a 1→2", "deleted a 3"]);
  });

  test("finds objects by key and by index after updates", () => {
    const { cache, onNode } = createCache();
    cache.put(object("a", "1"));
    expect(onNode("n1")).toEqual([]);
    cache.put(object("a", "2", { node: "n1" }));
    cache.put(object("b", "3", { node: "n1" }));
    expect(onNode("n1")).toEqual(["a", "b"]);
    cache.put(object("a", "4", { node: "n2" }));
    expect(onNode("n1")).toEqual(["b"]);
    expect(onNode("n2")).toEqual(["a"]);
    cache.remove(object("b", "5", { node: "n1" }));
    expect(onNode("n1")).toEqual([]);
    expect(cache.get("ns/a")?.metadata.resourceVersion).toBe("4");
    expect(() => cache.byIndex("byNothing", "x")).toThrow('the informer has no index "byNothing"');
  });

  test("treats a recreated object as a deletion and an addition", () => {
    const { cache, log } = createCache();
    cache.put(object("a", "1", { uid: "old" }));
    cache.put(object("a", "9", { uid: "new" }));
    expect(log).toEqual(["added a 1", "deleted a 1", "added a 9"]);
  });

  test("applies a list as its net effect, keeping unchanged objects", () => {
    const { cache, log, onNode } = createCache();
    const kept = object("same", "1");
    for (const one of [kept, object("changes", "2"), object("goes", "3", { node: "n1" })]) cache.put(one);
    log.length = 0;
    const intake = cache.beginList();
    for (const one of [object("same", "1"), object("changes", "7"), object("new", "6")]) intake.add(one);
    expect(log).toEqual(["changed changes 2→7", "added new 6"]);
    intake.complete();
    expect(log.slice(2)).toEqual(["deleted goes 3"]);
    expect(cache.get("ns/same")).toBe(kept);
    expect(onNode("n1")).toEqual([]);
    expect([...cache.list()]).toHaveLength(3);
  });

  test("marks changes found by a list", () => {
    const emitted: string[] = [];
    const cache = createObjectCache<KubeObject>({}, ({ kind, object: { metadata }, listed }) => {
      emitted.push(`${kind} ${metadata.name}${listed ? " listed" : ""}`);
    });
    cache.put(object("a", "1"));
    cache.put(object("b", "2"));
    const intake = cache.beginList();
    intake.add(object("a", "3"));
    intake.add(object("c", "4"));
    intake.complete();
    cache.remove(object("a", "5"));
    expect(emitted).toEqual([
      "added a",
      "added b",
      "changed a listed",
      "added c listed",
      "deleted b listed",
      "deleted a",
    ]);
  });

  test("uses the name as the key of cluster-scoped objects", () => {
    const { cache } = createCache();
    cache.put({ apiVersion: "v1", kind: "Node", metadata: { name: "n1", resourceVersion: "1" } });
    expect(cache.get("n1")).toBeDefined();
  });
});
