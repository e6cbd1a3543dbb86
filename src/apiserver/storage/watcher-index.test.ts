import { expect, test } from "vitest";
import type { CachedObject } from "./cached-object.ts";
import { type Change, createWatcherIndex, type WatchScope } from "./watcher-index.ts";

function object(nodeName: string): CachedObject {
  return { facts: () => ({ labels: {}, fields: { "spec.nodeName": nodeName } }) } as unknown as CachedObject;
}

function change(key: string, before?: CachedObject, after?: CachedObject): Change {
  return { revision: 1, key, before, after };
}

const scopes: Record<string, WatchScope> = {
  all: { kind: "all" },
  namespace: { kind: "namespace", prefix: "/p/a/" },
  other: { kind: "namespace", prefix: "/p/b/" },
  object: { kind: "object", key: "/p/a/x" },
  node1: { kind: "node", nodeName: "node-1" },
  node2: { kind: "node", nodeName: "node-2" },
};

test.each([
  {
    name: "created on a node",
    change: change("/p/a/x", undefined, object("node-1")),
    notified: ["all", "namespace", "node1", "object"],
  },
  { name: "created elsewhere", change: change("/p/b/y", undefined, object("")), notified: ["all", "other"] },
  {
    name: "scheduled",
    change: change("/p/a/y", object(""), object("node-2")),
    notified: ["all", "namespace", "node2"],
  },
  { name: "deleted", change: change("/p/b/y", object("node-1")), notified: ["all", "node1", "other"] },
  {
    name: "changed on its node",
    change: change("/p/b/y", object("node-1"), object("node-1")),
    notified: ["all", "node1", "other"],
  },
])("$name: notifies the watchers in scope once each", ({ change, notified }) => {
  const index = createWatcherIndex();
  const received: string[] = [];
  for (const [name, scope] of Object.entries(scopes)) index.add(scope, () => received.push(name));
  index.notify(change);
  expect(received.sort()).toEqual(notified);
});

test("does not notify watchers that have unsubscribed", () => {
  const index = createWatcherIndex();
  let received = 0;
  const leave = Object.values(scopes).map((scope) => index.add(scope, () => received++));
  expect(index.size()).toBe(6);
  for (const go of leave) go();
  index.notify(change("/p/a/x", undefined, object("node-1")));
  expect(received).toBe(0);
  expect(index.size()).toBe(0);
});
