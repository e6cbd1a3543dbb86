import { describe, expect, test } from "vitest";
import type { KubeObject, Node, Pod } from "../../../api/objects.ts";
import type { UserInfo } from "../user-info.ts";
import { refuseNodeRequest } from "./node-restriction.ts";
import type { NodeRestrictionDeps, NodeWrite } from "./node-write.ts";

const n1: UserInfo = { username: "system:node:n1", groups: ["system:nodes"], extra: {} };

const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: "n1-uid", controller: true };
function pod(nodeName: string, spec: object = {}, metadata: object = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "a", uid: "p-uid", ...metadata },
    spec: { nodeName, containers: [], ...spec },
  };
}
const mirrorFacts = { annotations: { "kubernetes.io/config.mirror": "x" }, ownerReferences: [owner] };
const mirror = (spec: object = {}, metadata: object = {}) => pod("n1", spec, { ...mirrorFacts, ...metadata });
const node = (metadata: object = {}, spec: object = {}): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", uid: "n1-uid", ...metadata },
  spec,
});

const deps: NodeRestrictionDeps = {
  pod: (_, name) =>
    ({
      p: pod("n1", {
        volumes: [
          {
            name: "t",
            projected: {
              sources: [
                { serviceAccountToken: { path: "t", audience: "vault" } },
                { serviceAccountToken: { path: "u" } },
              ],
            },
          },
        ],
      }),
      other: pod("n2"),
    })[name],
  node: (name) => (name === "n1" ? node() : undefined),
  authorize: ({ verb, resource }) => ({
    allowed: verb === "request-serviceaccounts-token-audience" && resource === "granted",
    reason: "",
  }),
};

function message(write: Partial<NodeWrite>, user = n1): string | undefined {
  const defaults = {
    user,
    operation: "CREATE",
    group: "",
    resource: "pods",
    subresource: "",
    namespace: "a",
    name: "p",
  } as const;
  return refuseNodeRequest({ ...defaults, ...write }, deps)?.message;
}

function table(rows: [string, Partial<NodeWrite>, string | undefined][], prefix: string) {
  test.each(rows)("%s", (_, write, expected) => {
    expect(message(write)).toBe(expected === undefined ? undefined : `${prefix}${expected}`);
  });
}

test("nobody but nodes is restricted, and a node without a name may do nothing", () => {
  expect(message({ object: pod("n1") }, { ...n1, groups: [] })).toBeUndefined();
  expect(message({ object: pod("n1") }, { ...n1, username: "system:node:" })).toBe(
    'pods "p" is forbidden: could not determine node from user "system:node:"',
  );
});

describe("mirror pods", () => {
  const owned = (more: object) => mirror({}, { ownerReferences: [{ ...owner, ...more }] });
  const volume = (source: object) => ({ object: mirror({ volumes: [{ name: "v", ...source }] }) });
  table(
    [
      [
        "a proper one",
        {
          object: mirror({
            volumes: [
              { name: "v", hostPath: { path: "/" } },
              { name: "w", projected: { sources: [{ downwardAPI: {} }] } },
            ],
          }),
        },
        undefined,
      ],
      [
        "no mirror",
        { object: pod("n1") },
        'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
      ],
      [
        "nothing",
        {},
        'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
      ],
      [
        "on another node",
        { object: pod("n2", {}, mirrorFacts) },
        'node "n1" can only create pods with spec.nodeName set to itself',
      ],
      [
        "without an owner",
        { object: mirror({}, { ownerReferences: [] }) },
        'node "n1" can only create pods with an owner reference set to itself',
      ],
      [
        "with two owners",
        { object: mirror({}, { ownerReferences: [owner, owner] }) },
        'node "n1" can only create pods with a single owner reference set to itself',
      ],
      [
        "owned by another",
        { object: owned({ name: "n2" }) },
        'node "n1" can only create pods with an owner reference set to itself',
      ],
      [
        "owned by no controller",
        { object: owned({ controller: false }) },
        'node "n1" can only create pods with a controller owner reference set to itself',
      ],
      [
        "blocking the owner's deletion",
        { object: owned({ blockOwnerDeletion: true }) },
        'node "n1" must not set blockOwnerDeletion on an owner reference',
      ],
      [
        "owned by an earlier node",
        { object: owned({ uid: "old" }) },
        "node n1 UID mismatch: expected old got n1-uid",
      ],
      [
        "with a service account",
        { object: mirror({ serviceAccountName: "sa" }) },
        'node "n1" can not create pods that reference serviceaccounts',
      ],
      [
        "with a secret in its environment",
        { object: mirror({ containers: [{ name: "c", envFrom: [{ secretRef: { name: "s" } }] }] }) },
        'node "n1" can not create pods that reference secrets',
      ],
      [
        "with a secret volume without a name",
        volume({ secret: {} }),
        'node "n1" can not create pods that reference secrets (via secret volumes)',
      ],
      [
        "with a claim",
        volume({ persistentVolumeClaim: { claimName: "c" } }),
        'node "n1" can not create pods that reference persistentvolumeclaims',
      ],
      [
        "with an ephemeral volume",
        volume({ ephemeral: {} }),
        'node "n1" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)',
      ],
      [
        "with a token",
        volume({ projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }),
        'node "n1" can not create pods that reference serviceaccounts (via projected volumes)',
      ],
      [
        "with a resource claim",
        { object: mirror({ resourceClaims: [{ name: "c" }] }) },
        'node "n1" can not create pods that reference resourceclaims',
      ],
      [
        "with a volume of no known kind",
        volume({ constructor: {} }),
        "error checking mirror pod for API references: unknown volume type",
      ],
      [
        "an update",
        { operation: "UPDATE", object: mirror() },
        'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
      ],
      ["delete its own", { operation: "DELETE" }, undefined],
    ],
    'pods "p" is forbidden: ',
  );

  test("of others cannot be deleted, and those that are not there are not found", () => {
    expect(message({ operation: "DELETE", name: "other" })).toBe(
      'pods "other" is forbidden: node "n1" can only delete pods with spec.nodeName set to itself',
    );
    expect(message({ operation: "DELETE", name: "none" })).toBe('pods "none" not found');
  });
});

describe("status and eviction of pods", () => {
  const status = { operation: "UPDATE", subresource: "status", oldObject: pod("n1") } as const;
  const claims = { resourceClaimStatuses: [{ name: "x" }] };
  table(
    [
      [
        "its own status",
        { ...status, object: { ...pod("n1"), status: { phase: "Running" } } as Pod },
        undefined,
      ],
      [
        "another's status",
        { ...status, object: pod("n1"), oldObject: pod("n2") },
        'node "n1" can only update pod status for pods with spec.nodeName set to itself',
      ],
      [
        "labels through status",
        { ...status, object: pod("n1", {}, { labels: { a: "b" } }) },
        'node "n1" cannot update labels through pod status',
      ],
      [
        "resource claims through status",
        { ...status, object: { ...pod("n1"), status: claims } as Pod },
        'node "n1" cannot update resource claim statues',
      ],
      ["create a status", { ...status, operation: "CREATE" }, 'unexpected operation "CREATE"'],
      ["evict its own", { subresource: "eviction" }, undefined],
      [
        "bind",
        { subresource: "binding" },
        "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
      ],
      [
        "add ephemeral containers",
        { subresource: "ephemeralcontainers" },
        "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are allowed",
      ],
    ],
    'pods "p" is forbidden: ',
  );

  test("pods elsewhere are not evicted", () => {
    expect(message({ subresource: "eviction", name: "other" })).toBe(
      'pods "other" is forbidden: node n1 can only evict pods with spec.nodeName set to itself',
    );
    expect(message({ subresource: "eviction", name: "" })).toBe(
      'pods "Unknown" is forbidden: could not determine pod from request data',
    );
  });
});

describe("nodes", () => {
  const labels = (...keys: string[]) => node({ labels: Object.fromEntries(keys.map((key) => [key, "x"])) });
  const create = { resource: "nodes", name: "n1", namespace: "" } as const;
  const update = { ...create, operation: "UPDATE", oldObject: node() } as const;
  table(
    [
      [
        "register with labels of its own",
        {
          ...create,
          object: labels(
            "kubernetes.io/hostname",
            "kubernetes.io/os",
            "topology.kubernetes.io/zone",
            "node.kubernetes.io/x",
            "sub.kubelet.kubernetes.io/x",
            "example.com/x",
            "plain",
          ),
        },
        undefined,
      ],
      [
        "register with labels of others",
        { ...create, object: labels("node-role.kubernetes.io/control-plane", "foo.k8s.io/x", "plain") },
        'node "n1" is not allowed to set the following labels: foo.k8s.io/x, node-role.kubernetes.io/control-plane',
      ],
      [
        "register as restricted",
        { ...create, object: labels("sub.node-restriction.kubernetes.io/x") },
        'node "n1" is not allowed to set the following labels: sub.node-restriction.kubernetes.io/x',
      ],
      [
        "register with taints",
        { ...create, object: node({}, { taints: [{ key: "a", effect: "NoSchedule" }] }) },
        undefined,
      ],
      [
        "register with a config source",
        { ...create, object: node({}, { configSource: {} }) },
        'node "n1" is not allowed to create pods with a non-nil configSource',
      ],
      ["update status", { ...update, subresource: "status", object: node() }, undefined],
      ["change a label of its own", { ...update, object: labels("kubernetes.io/hostname") }, undefined],
      [
        "change another's label",
        { ...update, object: labels("kubernetes.io/role") },
        "is not allowed to modify labels: kubernetes.io/role",
      ],
      [
        "remove another's label",
        { ...update, object: node(), oldObject: labels("node-restriction.kubernetes.io/a") },
        "is not allowed to modify labels: node-restriction.kubernetes.io/a",
      ],
      [
        "keep another's label",
        { ...update, object: labels("kubernetes.io/role"), oldObject: labels("kubernetes.io/role") },
        undefined,
      ],
      [
        "change taints",
        { ...update, object: node({}, { taints: [{ key: "a", effect: "NoSchedule" }] }) },
        'node "n1" is not allowed to modify taints',
      ],
      ["write no taints as an empty list", { ...update, object: node({}, { taints: [] }) }, undefined],
      [
        "change owners",
        { ...update, object: node({ ownerReferences: [owner] }) },
        'node "n1" is not allowed to modify ownerReferences',
      ],
      [
        "set a config source",
        { ...update, object: node({}, { configSource: {} }) },
        'node "n1" is not allowed to update configSource to a new non-nil configSource',
      ],
    ],
    'nodes "n1" is forbidden: ',
  );

  test.each(["CREATE", "UPDATE", "DELETE"] as const)("no %s of another node", (operation) => {
    expect(message({ resource: "nodes", name: "n2", operation, object: node({ name: "n2" }) })).toBe(
      'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
    );
  });
});

describe("tokens", () => {
  const reference = { apiVersion: "v1", kind: "Pod", name: "p", uid: "p-uid" };
  const request = (boundObjectRef: object | undefined, audiences: string[] = ["vault"]) => ({
    resource: "serviceaccounts",
    subresource: "token",
    name: "sa",
    object: { spec: { boundObjectRef, audiences } } as unknown as KubeObject,
  });
  table(
    [
      ["for a pod of its own", request(reference), undefined],
      ["for the API", request(reference, []), undefined],
      ["for an audience that it was granted", request(reference, ["granted"]), undefined],
      [
        "for another audience",
        request(reference, ["bank"]),
        'audience "bank" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
      ],
      ["for two audiences", request(reference, ["vault", "bank"]), "node may only request 0 or 1 audiences"],
      ["for no pod", request(undefined), "node requested token not bound to a pod"],
      ["for a secret", request({ ...reference, kind: "Secret" }), "node requested token not bound to a pod"],
      [
        "for itself",
        request({ ...reference, kind: "Node", name: "n1" }),
        "node requested token not bound to a pod",
      ],
      [
        "without a uid",
        request({ ...reference, uid: "" }),
        "node requested token with a pod binding without a uid",
      ],
      [
        "for an earlier pod",
        request({ ...reference, uid: "old" }),
        "the UID in the bound object reference (old) does not match the UID in record. The object might have been deleted and then recreated",
      ],
      [
        "for a pod elsewhere",
        request({ ...reference, name: "other" }),
        "node requested token bound to a pod scheduled on a different node",
      ],
    ],
    'serviceaccounts "sa" is forbidden: ',
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
