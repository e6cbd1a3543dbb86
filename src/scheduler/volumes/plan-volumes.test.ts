import { describe, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { type Cluster, choose, makeNode, makePod, outcome } from "../model/scheduling.fixture.ts";
import { makeBoundClaim, makeClaim, makeClass, makeVolume, onNode } from "./volumes.fixture.ts";

const nodes = [makeNode("a"), makeNode("b")];
const using = (...names: string[]): Pod =>
  makePod({
    volumes: names.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  });
const inline = makePod({ volumes: [{ name: "scratch", ephemeral: {} }] });
const ownedBy = (uid: string) => ({
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true }],
});
const late = [makeClass("late")];
const noProvisioner = [makeClass("late", { provisioner: "kubernetes.io/no-provisioner" })];
const everywhere = (reason: string) => `0/2 nodes are available: 2 ${reason}. `;
const wholly = (reason: string) => `0/2 nodes are available: ${reason}. not found`;
const nothingToBind = "node(s) didn't find available persistent volumes to bind";

interface Row {
  what: string;
  pod?: Pod;
  cluster: Cluster;
  expected: string;
}

const rows: Row[] = [
  {
    what: "a missing claim",
    cluster: {},
    expected: wholly('persistentvolumeclaim "data" not found'),
  },
  {
    what: "a claim in phase Lost",
    cluster: { claims: [makeClaim("data", { volumeName: "v", status: { phase: "Lost" } })] },
    expected: wholly('persistentvolumeclaim "data" bound to non-existent persistentvolume "v"'),
  },
  {
    what: "a claim that is being deleted",
    cluster: { claims: [makeClaim("data", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })] },
    expected: wholly('persistentvolumeclaim "data" is being deleted'),
  },
  {
    what: "an unbound claim with immediate binding",
    cluster: {
      claims: [makeClaim("data", { storageClassName: "now" })],
      classes: [makeClass("now", { volumeBindingMode: "Immediate" })],
    },
    expected: wholly("pod has unbound immediate PersistentVolumeClaims"),
  },
  {
    what: "a claim whose binding is incomplete",
    cluster: { claims: [makeClaim("data", { volumeName: "v" })], classes: late },
    expected: wholly("pod has unbound immediate PersistentVolumeClaims"),
  },
  {
    what: "a claim without a class",
    cluster: { claims: [makeClaim("data", { storageClassName: undefined })] },
    expected: wholly("pod has unbound immediate PersistentVolumeClaims"),
  },
  {
    what: "an ephemeral claim that is not created yet",
    pod: inline,
    cluster: {},
    expected: wholly(
      'waiting for ephemeral volume controller to create the persistentvolumeclaim "web-scratch"',
    ),
  },
  {
    what: "an ephemeral claim owned by another object",
    pod: inline,
    cluster: { claims: [makeClaim("web-scratch", { metadata: ownedBy("other") })], classes: late },
    expected: wholly("PVC default/web-scratch was not created for pod default/web (pod is not owner)"),
  },
  {
    what: "its own ephemeral claim",
    pod: inline,
    cluster: { claims: [makeClaim("web-scratch", { metadata: ownedBy("uid-default-web") })], classes: late },
    expected: "a",
  },
  {
    what: "a bound volume with affinity to one node",
    cluster: { claims: [makeBoundClaim("data", "v")], volumes: [makeVolume("v", onNode("b"))] },
    expected: "b",
  },
  {
    what: "a bound volume with affinity to a missing node",
    cluster: { claims: [makeBoundClaim("data", "v")], volumes: [makeVolume("v", onNode("x"))] },
    expected: everywhere("node(s) didn't match PersistentVolume's node affinity"),
  },
  {
    what: "a bound claim whose volume is missing",
    cluster: { claims: [makeBoundClaim("data", "v")] },
    expected: wholly('persistentvolume "v" not found'),
  },
  {
    what: "a bound volume with labels of another zone",
    cluster: {
      nodes: ["x", "y"].map((zone) => makeNode(zone, { labels: { "topology.kubernetes.io/zone": zone } })),
      claims: [makeBoundClaim("data", "v")],
      volumes: [
        makeVolume("v", { metadata: { labels: { "failure-domain.beta.kubernetes.io/zone": "y__z" } } }),
      ],
    },
    expected: "y",
  },
  {
    what: "a claim that can be provisioned on every node",
    cluster: { claims: [makeClaim("data")], classes: late },
    expected: "a",
  },
  {
    what: "a claim whose class limits the topology",
    cluster: {
      claims: [makeClaim("data")],
      classes: [
        makeClass("late", {
          allowedTopologies: [{ matchLabelExpressions: [{ key: "kubernetes.io/hostname", values: ["b"] }] }],
        }),
      ],
    },
    expected: "b",
  },
  {
    what: "a claim with a selected node",
    cluster: {
      claims: [
        makeClaim("data", { metadata: { annotations: { "volume.kubernetes.io/selected-node": "b" } } }),
      ],
      classes: late,
    },
    expected: "b",
  },
  {
    what: "no available volume and no provisioner",
    cluster: { claims: [makeClaim("data")], classes: noProvisioner },
    expected: everywhere(nothingToBind),
  },
  {
    what: "an available volume on one node",
    cluster: { claims: [makeClaim("data")], classes: noProvisioner, volumes: [makeVolume("v", onNode("b"))] },
    expected: "b",
  },
  ...[
    { what: "too small", volume: makeVolume("v", { capacity: { storage: "1Mi" } }) },
    { what: "of another class", volume: makeVolume("v", { storageClassName: "other" }) },
    { what: "of another mode", volume: makeVolume("v", { volumeMode: "Block" }) },
    { what: "without the access mode", volume: makeVolume("v", { accessModes: ["ReadOnlyMany"] }) },
    { what: "not available", volume: makeVolume("v", { status: { phase: "Released" } }) },
    {
      what: "reserved for another claim",
      volume: makeVolume("v", { claimRef: { namespace: "default", name: "other" } }),
    },
    {
      what: "being deleted",
      volume: makeVolume("v", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    },
  ].map(({ what, volume }) => ({
    what: `an available volume that is ${what}`,
    cluster: { claims: [makeClaim("data")], classes: noProvisioner, volumes: [volume] },
    expected: everywhere(nothingToBind),
  })),
  {
    what: "two claims and one available volume",
    pod: using("data", "more"),
    cluster: {
      claims: [makeClaim("data"), makeClaim("more")],
      classes: noProvisioner,
      volumes: [makeVolume("v")],
    },
    expected: everywhere(nothingToBind),
  },
  {
    what: "a ReadWriteOncePod claim in use",
    cluster: {
      claims: [
        { ...makeBoundClaim("data", "v"), spec: { accessModes: ["ReadWriteOncePod"], volumeName: "v" } },
      ],
      volumes: [makeVolume("v")],
      pods: { a: [{ ...using("data"), metadata: { name: "user", namespace: "default", uid: "u" } }] },
    },
    expected: everywhere(
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    ),
  },
  {
    what: "a disk that another pod writes to",
    pod: makePod({ volumes: [{ name: "d", gcePersistentDisk: { pdName: "d" } }] }),
    cluster: {
      pods: { a: [makePod({ name: "u", volumes: [{ name: "d", gcePersistentDisk: { pdName: "d" } }] })] },
    },
    expected: "b",
  },
];

describe("a pod with", () => {
  test.each(rows)("$what", ({ pod = using("data"), cluster, expected }) => {
    expect(outcome(pod, { nodes, ...cluster })).toContain(expected);
  });
});

describe("the volume plan", () => {
  test("uses the smallest sufficient volume and provisions the rest", () => {
    const choice = choose(using("data", "big"), {
      nodes: [makeNode("a")],
      claims: [makeClaim("data"), makeClaim("big", { resources: { requests: { storage: "1Ti" } } })],
      classes: late,
      volumes: [makeVolume("large", { capacity: { storage: "9Gi" } }), makeVolume("small")],
    });
    expect(choice).toMatchObject({
      volumes: {
        bindings: [{ claim: { metadata: { name: "data" } }, volume: { metadata: { name: "small" } } }],
        provisions: [{ metadata: { name: "big" } }],
      },
    });
  });

  test("prefers the volume that is reserved for the claim", () => {
    const meant = makeVolume("meant", {
      capacity: { storage: "9Gi" },
      claimRef: { namespace: "default", name: "data" },
    });
    const choice = choose(using("data"), {
      nodes,
      claims: [makeClaim("data")],
      classes: late,
      volumes: [makeVolume("small"), meant],
    });
    expect(choice).toMatchObject({ volumes: { bindings: [{ volume: { metadata: { name: "meant" } } }] } });
  });
});
