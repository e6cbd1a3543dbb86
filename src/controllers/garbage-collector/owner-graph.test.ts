import { describe, expect, test } from "vitest";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/meta/objects.ts";
import {
  type Collection,
  createOwnerGraph,
  type Deletion,
  decideCollection,
  nextGraphStep,
  type OwnerState,
} from "./owner-graph.ts";

function object(name: string, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name, uid: name, ...metadata } };
}

const configMaps = { group: "", version: "v1", plural: "configmaps", namespaced: true };

function ownedBy(name: string, parts: Partial<OwnerReference> = {}): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name, uid: name, ...parts };
}

const going = (finalizer: string) => ({ deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] });

/** Observes objects in this order. Returns the graph and the uids that the last one queued. */
function observeAll(...objects: KubeObject[]) {
  const graph = createOwnerGraph();
  let woken: ReadonlySet<string> = new Set();
  for (const each of objects) woken = graph.observe(configMaps, each);
  return { graph, woken: [...woken].sort() };
}

describe("uids to reconcile", () => {
  const owner = object("owner");
  const child = object("child", { ownerReferences: [ownedBy("owner")] });
  const blocking = object("child", { ownerReferences: [ownedBy("owner", { blockOwnerDeletion: true })] });
  const cases: [string, KubeObject[], string[]][] = [
    ["none for an object without owners", [owner], []],
    ["none for an object whose owner exists", [owner, child], []],
    ["an object whose owner was not observed", [child], ["child"]],
    ["none when the referenced owner is observed later", [child, owner], []],
    [
      "an object that refers to its owner by another name",
      [owner, object("child", { ownerReferences: [ownedBy("other", { uid: "owner" })] })],
      ["child"],
    ],
    [
      "an object that is found to refer to its owner by another name",
      [object("child", { ownerReferences: [ownedBy("other", { uid: "owner" })] }), owner],
      ["child"],
    ],
    [
      "an object in another namespace than its owner",
      [owner, { ...child, metadata: { ...child.metadata, namespace: "b" } }],
      ["child"],
    ],
    [
      "an object that gets another owner",
      [owner, child, object("child", { ownerReferences: [ownedBy("new")] })],
      ["child"],
    ],
    [
      "owner and dependents on foreground deletion",
      [owner, child, object("owner", going("foregroundDeletion"))],
      ["child", "owner"],
    ],
    ["only the owner on orphaning deletion", [owner, child, object("owner", going("orphan"))], ["owner"]],
    ["none on background deletion", [owner, child, object("owner", { deletionTimestamp: "x" })], []],
    ["an owner whose dependent drops its reference", [owner, blocking, object("child")], ["owner"]],
    ["an owner that is no longer blocked", [owner, blocking, child], ["owner"]],
    [
      "a child of an owner that already waits",
      [object("owner", going("foregroundDeletion")), child],
      ["child"],
    ],
  ];
  test.each(cases)("%s", (_, objects, expected) => {
    expect(observeAll(...objects).woken).toEqual(expected);
  });

  test("include dependents and waiting owners of a deleted object", () => {
    const { graph } = observeAll(
      object("waiting", going("foregroundDeletion")),
      object("middle", { ownerReferences: [ownedBy("waiting")] }),
      object("leaf", { ownerReferences: [ownedBy("middle")] }),
    );
    expect([...graph.remove(object("middle"))].sort()).toEqual(["leaf", "waiting"]);
    expect(graph.get("middle")).toBeUndefined();
    expect(graph.dependentsOf("waiting")).toEqual([]);
    expect(graph.dependentsOf("middle")).toMatchObject([{ uid: "leaf" }]);
  });
});

describe("nextGraphStep", () => {
  const held = { ownerReferences: [ownedBy("owner", { blockOwnerDeletion: true })] };
  const cases: [string, string, KubeObject[], string][] = [
    ["an object whose owners exist", "child", [object("owner"), object("child", held)], "nothing"],
    ["an object whose owner was not observed", "child", [object("child", held)], "checkOwners"],
    [
      "an object in background deletion",
      "owner",
      [object("owner", { deletionTimestamp: "x", ...held })],
      "nothing",
    ],
    [
      "an object in orphaning deletion",
      "owner",
      [object("owner", going("orphan")), object("child", held)],
      "orphan",
    ],
    [
      "an object in foreground deletion with a blocking dependent",
      "owner",
      [object("owner", going("foregroundDeletion")), object("child", held)],
      "nothing",
    ],
    [
      "an object in foreground deletion without dependents",
      "owner",
      [object("owner", going("foregroundDeletion"))],
      "release",
    ],
    [
      "an object in foreground deletion whose dependents do not block it",
      "owner",
      [
        object("owner", going("foregroundDeletion")),
        object("child", { ownerReferences: [ownedBy("owner")] }),
      ],
      "release",
    ],
    [
      "a child of a waiting owner",
      "child",
      [object("owner", going("foregroundDeletion")), object("child", held)],
      "checkOwners",
    ],
  ];
  test.each(cases)("%s", (_, uid, objects, expected) => {
    const { graph } = observeAll(...objects);
    const node = graph.get(uid);
    expect(node && nextGraphStep(node, graph).kind).toBe(expected);
  });
});

interface Case {
  name: string;
  owners: OwnerState[];
  dependents?: Deletion[];
  finalizers?: string[];
  expected: Collection;
}

const keep: Collection = { kind: "keep" };
const remove = (
  propagationPolicy: "Background" | "Foreground" | "Orphan",
  unblockOwners = false,
): Collection => ({ kind: "delete", propagationPolicy, unblockOwners });

const cases: Case[] = [
  { name: "keeps an object without owners", owners: [], expected: keep },
  { name: "keeps an object whose owner exists", owners: ["solid"], expected: keep },
  { name: "deletes an object whose owner is gone", owners: ["dangling"], expected: remove("Background") },
  {
    name: "deletes an object whose owners are all gone",
    owners: ["dangling", "dangling"],
    expected: remove("Background"),
  },
  {
    name: "drops the reference to an owner that is gone",
    owners: ["solid", "dangling"],
    expected: { kind: "dropReferences", uids: ["1"] },
  },
  {
    name: "deletes an object if one owner is gone and one waits for it",
    owners: ["waiting", "solid", "dangling"],
    expected: { kind: "dropReferences", uids: ["2", "0"] },
  },
  { name: "deletes an object that its owner waits for", owners: ["waiting"], expected: remove("Background") },
  {
    name: "deletes in the foreground if an owner waits and the object has dependents",
    owners: ["waiting"],
    dependents: ["none"],
    expected: remove("Foreground"),
  },
  {
    name: "unblocks owners if a dependent waits too",
    owners: ["waiting", "dangling"],
    dependents: ["none", "foreground"],
    expected: remove("Foreground", true),
  },
  {
    name: "deletes in the background an object with dependents whose owner is gone",
    owners: ["dangling"],
    dependents: ["none"],
    expected: remove("Background"),
  },
  {
    name: "keeps the Orphan policy of the object's finalizer",
    owners: ["dangling"],
    finalizers: ["orphan"],
    expected: remove("Orphan"),
  },
  {
    name: "keeps the Foreground policy of the object's finalizer",
    owners: ["dangling"],
    finalizers: ["foregroundDeletion"],
    expected: remove("Foreground"),
  },
];

test.each(cases)("$name", ({ owners, dependents = [], finalizers, expected }) => {
  const facts = {
    metadata: { finalizers },
    owners: owners.map((state, index) => ({
      reference: { apiVersion: "v1", kind: "ConfigMap", name: `${index}`, uid: `${index}` },
      state,
    })),
    dependents: dependents.map((deletion) => ({ deletion })),
  };
  expect(decideCollection(facts)).toEqual(expected);
});
