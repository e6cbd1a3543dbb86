import { expect, test } from "vitest";
import { message, node, owner, testRefusals } from "./node-restriction.fixture.ts";

const labels = (...keys: string[]) => node({ labels: Object.fromEntries(keys.map((key) => [key, "x"])) });
const create = { resource: "nodes", name: "n1", namespace: "" } as const;
const update = { ...create, operation: "UPDATE", oldObject: node() } as const;
testRefusals('nodes "n1" is forbidden: ', [
  [
    "register with its own labels",
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
  ["change its own label", { ...update, object: labels("kubernetes.io/hostname") }, undefined],
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
]);

test.each(["CREATE", "UPDATE", "DELETE"] as const)("no %s of another node", (operation) => {
  expect(message({ resource: "nodes", name: "n2", operation, object: node({ name: "n2" }) })).toBe(
    'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
  );
});
