import { describe, expect, test } from "vitest";
import type { Node, Pod, PodSpec } from "../../api/objects.ts";
import { makeNode, makePod, outcome } from "../scheduling.fixture.ts";

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
  { what: "the emptier zone", pod: spread(), pods: { a: [web("x")] }, expected: "b" },
  {
    what: "pods that end do not count",
    pod: spread({}, { nodeSelector: { "kubernetes.io/hostname": "a" } }),
    pods: { a: [web("x", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } })] },
    expected: "a",
  },
  {
    what: "pods of other namespaces do not count",
    pod: spread(),
    pods: { a: [web("x", { namespace: "other" })], b: [web("y"), web("z")] },
    expected: "a",
  },
  {
    what: "no zone but the full one will take it",
    pod: spread(),
    nodes: [inZone("a", "1"), inZone("b", "2", { taints: [{ key: "k", effect: "NoSchedule" }] })],
    pods: { a: [web("x")] },
    expected: `0/2 nodes are available: 1 ${tooSkewed}, 1 node(s) had untolerated taint(s). `,
  },
  {
    what: "a zone that taints close does not count when the pod says so",
    pod: spread({ nodeTaintsPolicy: "Honor" }),
    nodes: [inZone("a", "1"), inZone("b", "2", { taints: [{ key: "k", effect: "NoSchedule" }] })],
    pods: { a: [web("x")] },
    expected: "a",
  },
  {
    what: "zones that the pod does not select do not count",
    pod: spread({}, { nodeSelector: { [zoneKey]: "1" } }),
    pods: { a: [web("x"), web("y")] },
    expected: "a",
  },
  {
    what: "they do when the pod says so",
    pod: spread({ nodeAffinityPolicy: "Ignore" }, { nodeSelector: { [zoneKey]: "1" } }),
    pods: { a: [web("x")] },
    expected: `1 ${tooSkewed}`,
  },
  {
    what: "fewer zones than there shall be",
    pod: spread({ minDomains: 3 }),
    pods: { a: [web("x")], b: [web("y")] },
    expected: `0/2 nodes are available: 2 ${tooSkewed}. `,
  },
  {
    what: "nodes without the label",
    pod: spread(),
    nodes: [makeNode("a")],
    pods: {},
    expected: `0/1 nodes are available: 1 ${tooSkewed} (missing required label). `,
  },
  {
    what: "only pods with the same value of a label",
    pod: spread({ matchLabelKeys: ["rev"] }, { labels: { ...labels, rev: "2" } }),
    pods: { a: [makePod({ name: "x", labels: { ...labels, rev: "2" } })], b: [web("y"), web("z")] },
    expected: "b",
  },
];

describe("a pod that spreads", () => {
  test.each(rows)("$what", ({ pod, nodes = two, pods, expected }) => {
    expect(outcome(pod, { nodes, pods })).toContain(expected);
  });

  test("room that a pod could make is said to be so", () => {
    const pod = spread({ minDomains: 3 }, { priority: 1 });
    expect(outcome(pod, { nodes: two, pods: { a: [web("x")], b: [web("y")] } })).toContain(
      "2 Preemption is not done by this scheduler",
    );
  });
});
