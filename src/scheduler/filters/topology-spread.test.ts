import { describe, expect, test } from "vitest";
import type { Node, Pod, PodSpec } from "../../api/meta/objects.ts";
import { makeNode, makePod, outcome } from "../model/scheduling.fixture.ts";

type Constraint = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

const zoneKey = "topology.kubernetes.io/zone";
const labels = { app: "web" };
const inZone = (name: string, zone: string, parts = {}) =>
  makeNode(name, { labels: { [zoneKey]: zone }, ...parts });
const web = (name: string, parts = {}) => makePod({ name, labels, ...parts });
const spread = (constraint: Partial<Constraint> = {}, parts = {}) =>
  web("new", {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: zoneKey,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: labels },
        ...constraint,
      },
    ],
    ...parts,
  });
const tooSkewed = "node(s) didn't match pod topology spread constraints";

interface Row {
  what: string;
  pod: Pod;
  nodes?: Node[];
  pods: Record<string, Pod[]>;
  expected: string;
}

const two = [inZone("a", "1"), inZone("b", "2")];
const rows: Row[] = [
  { what: "chooses the zone with fewer pods", pod: spread(), pods: { a: [web("x")] }, expected: "b" },
  {
    what: "ignores terminating pods",
    pod: spread({}, { nodeSelector: { "kubernetes.io/hostname": "a" } }),
    pods: { a: [web("x", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })] },
    expected: "a",
  },
  {
    what: "ignores pods of other namespaces",
    pod: spread(),
    pods: { a: [web("x", { namespace: "other" })], b: [web("y"), web("z")] },
    expected: "a",
  },
  {
    what: "reports skew and taint when no zone is feasible",
    pod: spread(),
    nodes: [inZone("a", "1"), inZone("b", "2", { taints: [{ key: "k", effect: "NoSchedule" }] })],
    pods: { a: [web("x")] },
    expected: `0/2 nodes are available: 1 ${tooSkewed}, 1 node(s) had untolerated taint(s). `,
  },
  {
    what: "ignores tainted zones with nodeTaintsPolicy Honor",
    pod: spread({ nodeTaintsPolicy: "Honor" }),
    nodes: [inZone("a", "1"), inZone("b", "2", { taints: [{ key: "k", effect: "NoSchedule" }] })],
    pods: { a: [web("x")] },
    expected: "a",
  },
  {
    what: "ignores zones outside the pod's node affinity",
    pod: spread({}, { nodeSelector: { [zoneKey]: "1" } }),
    pods: { a: [web("x"), web("y")] },
    expected: "a",
  },
  {
    what: "counts them with nodeAffinityPolicy Ignore",
    pod: spread({ nodeAffinityPolicy: "Ignore" }, { nodeSelector: { [zoneKey]: "1" } }),
    pods: { a: [web("x")] },
    expected: `1 ${tooSkewed}`,
  },
  {
    what: "uses a minimum of 0 with fewer zones than minDomains",
    pod: spread({ minDomains: 3 }),
    pods: { a: [web("x")], b: [web("y")] },
    expected: `0/2 nodes are available: 2 ${tooSkewed}. `,
  },
  {
    what: "rejects nodes without the topology label",
    pod: spread(),
    nodes: [makeNode("a")],
    pods: {},
    expected: `0/1 nodes are available: 1 ${tooSkewed} (missing required label). `,
  },
  {
    what: "counts only pods with equal matchLabelKeys values",
    pod: spread({ matchLabelKeys: ["rev"] }, { labels: { ...labels, rev: "2" } }),
    pods: { a: [makePod({ name: "x", labels: { ...labels, rev: "2" } })], b: [web("y"), web("z")] },
    expected: "b",
  },
];

describe("topology spread constraints", () => {
  test.each(rows)("$what", ({ pod, nodes = two, pods, expected }) => {
    expect(outcome(pod, { nodes, pods })).toContain(expected);
  });

  test("report that preemption is not supported", () => {
    const pod = spread({ minDomains: 3 }, { priority: 1 });
    expect(outcome(pod, { nodes: two, pods: { a: [web("x")], b: [web("y")] } })).toContain(
      "2 Preemption is not done by this scheduler",
    );
  });
});
