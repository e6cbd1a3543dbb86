import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { message, n1, pod } from "./node-restriction.fixture.ts";
import type { NodeWrite } from "./restrict-pod.ts";

test("restricts nodes only, and rejects every request of a node without a name", () => {
  expect(message({ object: pod("n1") }, { ...n1, groups: [] })).toBeUndefined();
  expect(message({ object: pod("n1") }, { ...n1, username: "system:node:" })).toBe(
    'pods "p" is forbidden: could not determine node from user "system:node:"',
  );
});

describe("other kinds", () => {
  const lease = {
    group: "coordination.k8s.io",
    resource: "leases",
    namespace: "kube-node-lease",
    name: "n1",
  };
  const claim = (status: object, metadata: object = {}) =>
    ({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c", ...metadata },
      status,
    }) as KubeObject;
  const claimStatus = {
    resource: "persistentvolumeclaims",
    subresource: "status",
    name: "c",
    operation: "UPDATE",
  } as const;
  test.each<[string, Partial<NodeWrite>, string | undefined]>([
    ["its lease", lease, undefined],
    [
      "another's lease",
      { ...lease, name: "n2" },
      'leases.coordination.k8s.io "n2" is forbidden: can only access node lease with the same name as the requesting node',
    ],
    [
      "a lease elsewhere",
      { ...lease, namespace: "a" },
      'leases.coordination.k8s.io "n1" is forbidden: can only access leases in the "kube-node-lease" system namespace',
    ],
    [
      "another's CSINode",
      { group: "storage.k8s.io", resource: "csinodes", name: "n2" },
      'csinodes.storage.k8s.io "n2" is forbidden: can only access CSINode with the same name as the requesting node',
    ],
    [
      "a claim",
      { resource: "persistentvolumeclaims", name: "c" },
      'persistentvolumeclaims "c" is forbidden: may only update PVC status',
    ],
    [
      "the size of a claim",
      {
        ...claimStatus,
        object: claim({ capacity: { storage: "2Gi" } }, { resourceVersion: "2" }),
        oldObject: claim({}, { resourceVersion: "1" }),
      },
      undefined,
    ],
    [
      "the phase of a claim",
      { ...claimStatus, object: claim({ phase: "Bound" }), oldObject: claim({}) },
      'persistentvolumeclaims "c" is forbidden: node "n1" is not allowed to update fields other than status.quantity and status.conditions',
    ],
    ["events", { resource: "events", name: "e" }, undefined],
  ])("%s", (_, write, expected) => {
    expect(message(write)).toBe(expected);
  });
});
