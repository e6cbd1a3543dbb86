import { describe, expect, test } from "vitest";
import type { KubeObject } from "../api/objects.ts";
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
  test("tells additions, changes and deletions, and nothing for what it has already", () => {
    const { cache, log } = createCache();
    cache.put(object("a", "1"));
    cache.put(object("a", "1"));
    cache.put(object("a", "2"));
    cache.remove(object("a", "3"));
    cache.remove(object("a", "3"));
    expect(log).toEqual(["added a 1", "changed a 1→2", "deleted a 3"]);
  });

  test("finds by key and by index as objects move", () => {
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

  test("tells two objects of one name apart", () => {
    const { cache, log } = createCache();
    cache.put(object("a", "1", { uid: "old" }));
    cache.put(object("a", "9", { uid: "new" }));
    expect(log).toEqual(["added a 1", "deleted a 1", "added a 9"]);
  });

  test("takes in a list as its net effect, keeping the objects that are the same", () => {
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

  test("says what comes out of a list: in between, anything may have happened", () => {
    const told: string[] = [];
    const cache = createObjectCache<KubeObject>({}, ({ kind, object: { metadata }, listed }) => {
      told.push(`${kind} ${metadata.name}${listed ? " listed" : ""}`);
    });
    cache.put(object("a", "1"));
    cache.put(object("b", "2"));
    const intake = cache.beginList();
    intake.add(object("a", "3"));
    intake.add(object("c", "4"));
    intake.complete();
    cache.remove(object("a", "5"));
    expect(told).toEqual([
      "added a",
      "added b",
      "changed a listed",
      "added c listed",
      "deleted b listed",
      "deleted a",
    ]);
  });

  test("knows objects without a namespace by their name", () => {
    const { cache } = createCache();
    cache.put({ apiVersion: "v1", kind: "Node", metadata: { name: "n1", resourceVersion: "1" } });
    expect(cache.get("n1")).toBeDefined();
  });
});
