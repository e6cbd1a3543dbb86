import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../api/objects.ts";
import { enoughNodes } from "./choose-node.ts";
import { choose, makeNode, makePod, outcome } from "./scheduling.fixture.ts";

const notHelpful = (count: number) =>
  `no new claims to deallocate, preemption: 0/${count} nodes are available: ${count} Preemption is not helpful for scheduling.`;
const noVictims = (count: number) =>
  `no new claims to deallocate, preemption: 0/${count} nodes are available: ${count} No preemption victims found for incoming pod.`;
const refused = (reason: string, rest: string) => `0/1 nodes are available: 1 ${reason}. ${rest}`;

interface Row {
  what: string;
  pod: Pod;
  node?: Node;
  there?: readonly Pod[];
  /** The node when left out. */
  reason?: string;
  canPodsHelp?: boolean;
}

const cordoned = makeNode("n", { unschedulable: true });
const tolerate = (toleration: object) => makePod({ tolerations: [toleration] });
const taintedWith = (effect: string) => makeNode("n", { taints: [{ key: "gpu", value: "yes", effect }] });
const untolerated = "node(s) had untolerated taint(s)";
const otherNodes = "node(s) didn't match Pod's node affinity/selector";
const portTaken = "node(s) didn't have free ports for the requested pod ports";

const require = (...matchExpressions: { key: string; operator: string; values?: string[] }[]) =>
  makePod({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
      },
    },
  });
const disk = makeNode("n", { labels: { disk: "ssd", cores: "16" } });
const withPort = (name: string, port: object) =>
  makePod({ name, containers: [{ name: "main", ports: [{ containerPort: 80, ...port }] }] });
const initPod = (first: object) =>
  makePod({
    requests: { cpu: "1" },
    initContainers: [{ name: "init", resources: { requests: { cpu: "3" } }, ...first }],
  });

const rows: readonly Row[] = [
  {
    what: "a cordoned node",
    pod: makePod(),
    node: cordoned,
    reason: "node(s) were unschedulable",
  },
  {
    what: "a cordoned node that is tolerated",
    pod: tolerate({ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }),
    node: cordoned,
  },
  { what: "a taint", pod: makePod(), node: taintedWith("NoSchedule"), reason: untolerated },
  { what: "a taint that evicts", pod: makePod(), node: taintedWith("NoExecute"), reason: untolerated },
  { what: "a taint that only asks", pod: makePod(), node: taintedWith("PreferNoSchedule") },
  {
    what: "a tolerated taint",
    pod: tolerate({ key: "gpu", operator: "Equal", value: "yes", effect: "NoSchedule" }),
    node: taintedWith("NoSchedule"),
  },
  { what: "everything tolerated", pod: tolerate({ operator: "Exists" }), node: taintedWith("NoExecute") },
  {
    what: "another value tolerated",
    pod: tolerate({ key: "gpu", value: "no" }),
    node: taintedWith("NoSchedule"),
    reason: untolerated,
  },
  {
    what: "another effect tolerated",
    pod: tolerate({ key: "gpu", operator: "Exists", effect: "NoExecute" }),
    node: taintedWith("NoSchedule"),
    reason: untolerated,
  },
  { what: "a nodeSelector that matches", pod: makePod({ nodeSelector: { disk: "ssd" } }), node: disk },
  {
    what: "a nodeSelector that does not",
    pod: makePod({ nodeSelector: { disk: "hdd" } }),
    node: disk,
    reason: otherNodes,
  },
  { what: "In", pod: require({ key: "disk", operator: "In", values: ["ssd"] }), node: disk },
  {
    what: "NotIn",
    pod: require({ key: "disk", operator: "NotIn", values: ["ssd"] }),
    node: disk,
    reason: otherNodes,
  },
  { what: "Gt", pod: require({ key: "cores", operator: "Gt", values: ["8"] }), node: disk },
  {
    what: "Lt",
    pod: require({ key: "cores", operator: "Lt", values: ["8"] }),
    node: disk,
    reason: otherNodes,
  },
  { what: "Exists", pod: require({ key: "disk", operator: "Exists" }), node: disk },
  {
    what: "DoesNotExist",
    pod: require({ key: "disk", operator: "DoesNotExist" }),
    node: disk,
    reason: otherNodes,
  },
  {
    what: "a number that is none",
    pod: require({ key: "cores", operator: "Gt", values: ["many"] }),
    node: disk,
    reason: otherNodes,
  },
  {
    what: "a term without requirements",
    pod: require(),
    node: disk,
    reason: otherNodes,
  },
  {
    what: "a host port that is taken on all addresses",
    pod: withPort("a", { hostPort: 80, hostIP: "10.0.0.1" }),
    there: [withPort("b", { hostPort: 80 })],
    reason: portTaken,
    canPodsHelp: true,
  },
  {
    what: "the same port on another address",
    pod: withPort("a", { hostPort: 80, hostIP: "10.0.0.1" }),
    there: [withPort("b", { hostPort: 80, hostIP: "10.0.0.2" })],
  },
  {
    what: "the same port of another protocol",
    pod: withPort("a", { hostPort: 80, protocol: "UDP" }),
    there: [withPort("b", { hostPort: 80, protocol: "TCP" })],
  },
  {
    what: "more CPU than is left",
    pod: makePod({ requests: { cpu: "2" } }),
    there: [makePod({ name: "b", requests: { cpu: "2500m" } })],
    reason: "Insufficient cpu",
    canPodsHelp: true,
  },
  { what: "more CPU than there is", pod: makePod({ requests: { cpu: "5" } }), reason: "Insufficient cpu" },
  {
    what: "memory",
    pod: makePod({ requests: { memory: "9Gi" } }),
    reason: "Insufficient memory",
  },
  {
    what: "ephemeral storage that no node has",
    pod: makePod({ requests: { "ephemeral-storage": "1Gi" } }),
    reason: "Insufficient ephemeral-storage",
  },
  {
    what: "an extended resource",
    pod: makePod({ requests: { "example.com/gpu": "1" } }),
    reason: "Insufficient example.com/gpu",
  },
  {
    what: "an extended resource that is there",
    pod: makePod({ requests: { "example.com/gpu": "1" } }),
    node: makeNode("n", { allocatable: { "example.com/gpu": "2" } }),
    there: [makePod({ name: "b", requests: { "example.com/gpu": "1" } })],
  },
  {
    what: "as many pods as may be",
    pod: makePod(),
    node: makeNode("n", { allocatable: { pods: "1" } }),
    there: [makePod({ name: "b" })],
    reason: "Too many pods",
    canPodsHelp: true,
  },
  { what: "an init container that needs the most", pod: initPod({}), node: makeNode("n") },
  {
    what: "a sidecar on top",
    pod: initPod({ restartPolicy: "Always" }),
    node: makeNode("n", { allocatable: { cpu: "3500m" } }),
    reason: "Insufficient cpu",
  },
  {
    what: "overhead",
    pod: makePod({ requests: { cpu: "4" }, overhead: { cpu: "1m" } }),
    reason: "Insufficient cpu",
  },
  {
    what: "less for the pod as a whole than for its containers together",
    pod: makePod({ requests: { cpu: "5" }, resources: { requests: { cpu: "4" } } }),
  },
];

describe("a node is refused for", () => {
  test.each(rows)("$what", ({ pod, node = makeNode("n"), there = [], reason, canPodsHelp }) => {
    const rest = canPodsHelp ? noVictims(1) : notHelpful(1);
    const expected = reason ? refused(reason, rest) : "n";
    expect(outcome(pod, { nodes: [node], pods: { n: there } })).toBe(expected);
  });
});

describe("the message", () => {
  test("counts reasons and sorts them as texts", () => {
    const small = { cpu: "1" };
    const nodes = [
      makeNode("a", { allocatable: small }),
      makeNode("b", { taints: [{ key: "x", effect: "NoSchedule" }] }),
      makeNode("c", { taints: [{ key: "y", effect: "NoSchedule" }] }),
    ];
    expect(outcome(makePod({ requests: { cpu: "2" } }), { nodes })).toBe(
      `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). ${notHelpful(3)}`,
    );
  });

  test("gives every resource that a node lacks", () => {
    expect(outcome(makePod({ requests: { cpu: "9", memory: "9Gi" } }), { nodes: [makeNode("a")] })).toBe(
      `0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. ${notHelpful(1)}`,
    );
  });

  test("says when there is no node at all", () => {
    expect(outcome(makePod(), {})).toBe("no nodes available to schedule pods");
  });

  test("says that a pod does not want others to make room", () => {
    const pod = makePod({ requests: { cpu: "9" }, preemptionPolicy: "Never" });
    expect(outcome(pod, { nodes: [makeNode("a")] })).toBe(
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
    );
  });

  test("does not claim that nobody could make room when somebody could", () => {
    const pod = makePod({ requests: { cpu: "3" }, priority: 100 });
    const lesser = makePod({ name: "lesser", requests: { cpu: "3" } });
    expect(outcome(pod, { nodes: [makeNode("a")], pods: { a: [lesser] } })).toContain(
      "preemption: 0/1 nodes are available: 1 Preemption is not done by this scheduler.",
    );
  });
});

describe("a pod that names nodes", () => {
  const name = (...names: string[][]) =>
    makePod({
      requests: { cpu: "2" },
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchFields: names.map((values) => ({ key: "metadata.name", operator: "In", values })),
              },
            ],
          },
        },
      },
    });
  const nodes = [makeNode("a"), makeNode("b", { allocatable: { cpu: "1" } }), makeNode("c")];

  test("goes there", () => expect(outcome(name(["c"]), { nodes })).toBe("c"));
  test("is refused there for what is wrong there", () => {
    expect(outcome(name(["b"]), { nodes })).toBe(
      `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${notHelpful(3)}`,
    );
  });
  test("is refused everywhere when it names none that is there", () => {
    const choice = choose(name(["x"]), { nodes });
    expect(choice).toMatchObject({
      kind: "none",
      message: `0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${notHelpful(3)}`,
      rejectedBy: new Set(["NodeAffinity"]),
    });
  });
  test("is refused as a whole when it contradicts itself", () => {
    expect(outcome(name(["a"], ["c"]), { nodes })).toBe(
      "0/3 nodes are available: pod affinity terms conflict. not found",
    );
  });
});

test("the node that somebody has nominated is taken if it can do", () => {
  const nodes = [makeNode("a"), makeNode("b")];
  const busy = makePod({ name: "busy", requests: { cpu: "3" } });
  const pod = makePod({ status: { nominatedNodeName: "b" } });
  expect(outcome(pod, { nodes, pods: { b: [busy] } })).toBe("b");
});

test.each([
  [0, 0],
  [99, 99],
  [100, 100],
  [1_000, 420],
  [5_000, 500],
  [10_000, 500],
])("of %i nodes, %i are enough", (count, enough) => expect(enoughNodes(count)).toBe(enough));

test("the search starts where it is told to and says how far it went", () => {
  const nodes = Array.from({ length: 300 }, (_, i) => makeNode(`n${i}`));
  expect(choose(makePod(), { nodes }, 250)).toMatchObject({ nodeName: "n250", examined: enoughNodes(300) });
});
