import { describe, expect, test } from "vitest";
import type { KubeObject, ObjectMeta, OwnerReference } from "../../api/objects.ts";
import { lookAt } from "./decide-item.ts";
import { createOwnerGraph } from "./owner-graph.ts";

function object(name: string, metadata: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "a", name, uid: name, ...metadata } };
}

function ownedBy(name: string, parts: Partial<OwnerReference> = {}): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name, uid: name, ...parts };
}

const going = (finalizer: string) => ({ deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [finalizer] });

/** A graph to which objects were shown in this order, and whom the last of them woke. */
function shown(...objects: KubeObject[]) {
  const graph = createOwnerGraph();
  let woken: ReadonlySet<string> = new Set();
  for (const each of objects) woken = graph.observe("configmaps", each);
  return { graph, woken: [...woken].sort() };
}

describe("who wants a look", () => {
  const owner = object("owner");
  const child = object("child", { ownerReferences: [ownedBy("owner")] });
  const blocking = object("child", { ownerReferences: [ownedBy("owner", { blockOwnerDeletion: true })] });
  const cases: [string, KubeObject[], string[]][] = [
    ["nobody, for one without owners", [owner], []],
    ["nobody, for one whose owner is there", [owner, child], []],
    ["one whose owner was not seen", [child], ["child"]],
    ["nobody, when the owner comes later and is the one that was meant", [child, owner], []],
    [
      "one that calls its owner by another name",
      [owner, object("child", { ownerReferences: [ownedBy("other", { uid: "owner" })] })],
      ["child"],
    ],
    [
      "one that turns out to call its owner by another name",
      [object("child", { ownerReferences: [ownedBy("other", { uid: "owner" })] }), owner],
      ["child"],
    ],
    [
      "one of another namespace than its owner",
      [owner, { ...child, metadata: { ...child.metadata, namespace: "b" } }],
      ["child"],
    ],
    [
      "one that gets another owner",
      [owner, child, object("child", { ownerReferences: [ownedBy("new")] })],
      ["child"],
    ],
    [
      "all, when the owner goes after them",
      [owner, child, object("owner", going("foregroundDeletion"))],
      ["child", "owner"],
    ],
    [
      "the owner alone, when it leaves them behind",
      [owner, child, object("owner", going("orphan"))],
      ["owner"],
    ],
    [
      "nobody, when the owner is only marked",
      [owner, child, object("owner", { deletionTimestamp: "x" })],
      [],
    ],
    ["an owner that is let go", [owner, blocking, object("child")], ["owner"]],
    ["an owner that is no longer held up", [owner, blocking, child], ["owner"]],
    [
      "a child of an owner that already waits",
      [object("owner", going("foregroundDeletion")), child],
      ["child"],
    ],
  ];
  test.each(cases)("%s", (_, objects, expected) => {
    expect(shown(...objects).woken).toEqual(expected);
  });

  test("dependents and waiting owners of one that is gone", () => {
    const { graph } = shown(
      object("waiting", going("foregroundDeletion")),
      object("middle", { ownerReferences: [ownedBy("waiting")] }),
      object("leaf", { ownerReferences: [ownedBy("middle")] }),
    );
    expect([...graph.forget(object("middle"))].sort()).toEqual(["leaf", "waiting"]);
    expect(graph.get("middle")).toBeUndefined();
    expect(graph.dependentsOf("waiting")).toEqual([]);
    expect(graph.dependentsOf("middle")).toMatchObject([{ uid: "leaf" }]);
  });
});

describe("what an object needs", () => {
  const held = { ownerReferences: [ownedBy("owner", { blockOwnerDeletion: true })] };
  const cases: [string, string, KubeObject[], string][] = [
    ["owners that are there", "child", [object("owner"), object("child", held)], "nothing"],
    ["an owner that nobody saw", "child", [object("child", held)], "askForOwners"],
    ["a marked object", "owner", [object("owner", { deletionTimestamp: "x", ...held })], "nothing"],
    ["an orphaning object", "owner", [object("owner", going("orphan")), object("child", held)], "orphan"],
    [
      "a waiting object",
      "owner",
      [object("owner", going("foregroundDeletion")), object("child", held)],
      "nothing",
    ],
    ["one that waits for nobody", "owner", [object("owner", going("foregroundDeletion"))], "release"],
    [
      "one whose dependents do not hold it up",
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
      "askForOwners",
    ],
  ];
  test.each(cases)("%s", (_, uid, objects, expected) => {
    const { graph } = shown(...objects);
    const node = graph.get(uid);
    expect(node && lookAt(node, graph).kind).toBe(expected);
  });
});
