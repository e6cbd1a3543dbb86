import { describe, expect, test } from "vitest";
import type { Node, Pod, Service } from "../../api/meta/objects.ts";
import { describePod } from "../model/pod-info.ts";
import { type Cluster, choose, makeNode, makePod, makeState, outcome } from "../model/scheduling.fixture.ts";
import {
  balancedAllocation,
  imageLocality,
  leastAllocated,
  preferredAffinity,
  toleratedTaints,
} from "../scores/node-scores.ts";
import { affinityScore, spreadScore } from "../scores/pod-scores.ts";
import type { Scorer } from "../scores/scorer.ts";
import { feasibleNodesToFind } from "./choose-node.ts";

const notHelpful = (count: number) =>
  `no new claims to deallocate, preemption: 0/${count} nodes are available: ${count} Preemption is not helpful for scheduling.`;
const noVictims = (count: number) =>
  `no new claims to deallocate, preemption: 0/${count} nodes are available: ${count} No preemption victims found for incoming pod.`;
const rejected = (reason: string, rest: string) => `0/1 nodes are available: 1 ${reason}. ${rest}`;

interface Row {
  what: string;
  pod: Pod;
  node?: Node;
  there?: readonly Pod[];
  /** Undefined when the node is feasible. */
  reason?: string;
  isResolvable?: boolean;
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
    what: "a cordoned node when the pod tolerates it",
    pod: tolerate({ key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" }),
    node: cordoned,
  },
  { what: "a taint", pod: makePod(), node: taintedWith("NoSchedule"), reason: untolerated },
  { what: "a NoExecute taint", pod: makePod(), node: taintedWith("NoExecute"), reason: untolerated },
  { what: "a PreferNoSchedule taint", pod: makePod(), node: taintedWith("PreferNoSchedule") },
  {
    what: "a tolerated taint",
    pod: tolerate({ key: "gpu", operator: "Equal", value: "yes", effect: "NoSchedule" }),
    node: taintedWith("NoSchedule"),
  },
  { what: "everything tolerated", pod: tolerate({ operator: "Exists" }), node: taintedWith("NoExecute") },
  {
    what: "a taint when the toleration has another value",
    pod: tolerate({ key: "gpu", value: "no" }),
    node: taintedWith("NoSchedule"),
    reason: untolerated,
  },
  {
    what: "a taint when the toleration has another effect",
    pod: tolerate({ key: "gpu", operator: "Exists", effect: "NoExecute" }),
    node: taintedWith("NoSchedule"),
    reason: untolerated,
  },
  { what: "a matching nodeSelector", pod: makePod({ nodeSelector: { disk: "ssd" } }), node: disk },
  {
    what: "a nodeSelector that does not match",
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
    what: "a Gt requirement whose value is not a number",
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
    what: "a host port that is in use on all addresses",
    pod: withPort("a", { hostPort: 80, hostIP: "10.0.0.1" }),
    there: [withPort("b", { hostPort: 80 })],
    reason: portTaken,
    isResolvable: true,
  },
  {
    what: "a host port that is in use on another address",
    pod: withPort("a", { hostPort: 80, hostIP: "10.0.0.1" }),
    there: [withPort("b", { hostPort: 80, hostIP: "10.0.0.2" })],
  },
  {
    what: "a host port that is in use with another protocol",
    pod: withPort("a", { hostPort: 80, protocol: "UDP" }),
    there: [withPort("b", { hostPort: 80, protocol: "TCP" })],
  },
  {
    what: "a CPU request above the unallocated amount",
    pod: makePod({ requests: { cpu: "2" } }),
    there: [makePod({ name: "b", requests: { cpu: "2500m" } })],
    reason: "Insufficient cpu",
    isResolvable: true,
  },
  {
    what: "a CPU request above the node's capacity",
    pod: makePod({ requests: { cpu: "5" } }),
    reason: "Insufficient cpu",
  },
  {
    what: "memory",
    pod: makePod({ requests: { memory: "9Gi" } }),
    reason: "Insufficient memory",
  },
  {
    what: "ephemeral storage that the node does not report",
    pod: makePod({ requests: { "ephemeral-storage": "1Gi" } }),
    reason: "Insufficient ephemeral-storage",
  },
  {
    what: "a missing extended resource",
    pod: makePod({ requests: { "example.com/gpu": "1" } }),
    reason: "Insufficient example.com/gpu",
  },
  {
    what: "an exhausted extended resource",
    pod: makePod({ requests: { "example.com/gpu": "1" } }),
    node: makeNode("n", { allocatable: { "example.com/gpu": "2" } }),
    there: [makePod({ name: "b", requests: { "example.com/gpu": "1" } })],
  },
  {
    what: "the maximum number of pods",
    pod: makePod(),
    node: makeNode("n", { allocatable: { pods: "1" } }),
    there: [makePod({ name: "b" })],
    reason: "Too many pods",
    isResolvable: true,
  },
  { what: "an init container with the largest request", pod: initPod({}), node: makeNode("n") },
  {
    what: "a sidecar in addition to an init container",
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
    what: "a pod-level request below the sum of the containers",
    pod: makePod({ requests: { cpu: "5" }, resources: { requests: { cpu: "4" } } }),
  },
];

describe("the filters check", () => {
  test.each(rows)("$what", ({ pod, node = makeNode("n"), there = [], reason, isResolvable }) => {
    const rest = isResolvable ? noVictims(1) : notHelpful(1);
    const expected = reason ? rejected(reason, rest) : "n";
    expect(outcome(pod, { nodes: [node], pods: { n: there } })).toBe(expected);
  });
});

describe("the unschedulable message", () => {
  test("counts reasons and sorts them as strings", () => {
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

  test("lists every insufficient resource", () => {
    expect(outcome(makePod({ requests: { cpu: "9", memory: "9Gi" } }), { nodes: [makeNode("a")] })).toBe(
      `0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. ${notHelpful(1)}`,
    );
  });

  test("reports a cluster without nodes", () => {
    expect(outcome(makePod(), {})).toBe("no nodes available to schedule pods");
  });

  test("reports a pod whose policy forbids preemption", () => {
    const pod = makePod({ requests: { cpu: "9" }, preemptionPolicy: "Never" });
    expect(outcome(pod, { nodes: [makeNode("a")] })).toBe(
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.",
    );
  });

  test("reports that preemption is not supported where victims exist", () => {
    const pod = makePod({ requests: { cpu: "3" }, priority: 100 });
    const lesser = makePod({ name: "lesser", requests: { cpu: "3" } });
    expect(outcome(pod, { nodes: [makeNode("a")], pods: { a: [lesser] } })).toContain(
      "preemption: 0/1 nodes are available: 1 Preemption is not done by this scheduler.",
    );
  });
});

describe("a pod with affinity to node names", () => {
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

  test("is placed on the named node", () => expect(outcome(name(["c"]), { nodes })).toBe("c"));
  test("reports the rejection of the named node", () => {
    expect(outcome(name(["b"]), { nodes })).toBe(
      `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${notHelpful(3)}`,
    );
  });
  test("is rejected when no named node exists", () => {
    const choice = choose(name(["x"]), { nodes });
    expect(choice).toMatchObject({
      kind: "none",
      message: `0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${notHelpful(3)}`,
      rejectedBy: new Set(["NodeAffinity"]),
    });
  });
  test("is rejected when its terms conflict", () => {
    expect(outcome(name(["a"], ["c"]), { nodes })).toBe(
      "0/3 nodes are available: pod affinity terms conflict. not found",
    );
  });
});

test("uses the nominated node if it is feasible", () => {
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
])("of %i nodes, %i feasible ones are enough", (count, enough) =>
  expect(feasibleNodesToFind(count)).toBe(enough),
);

test("starts the search at the given index and returns the number of examined nodes", () => {
  const nodes = Array.from({ length: 300 }, (_, i) => makeNode(`n${i}`));
  expect(choose(makePod(), { nodes }, 250)).toMatchObject({
    nodeName: "n250",
    examined: feasibleNodesToFind(300),
  });
});

/** Scores of each node by one plugin, by node name. */
function scores(scorer: Scorer, pod: Pod, cluster: Cluster): Record<string, number> | undefined {
  const state = makeState(cluster);
  const score = scorer.prepare(describePod(pod), state, state.nodes);
  if (!score) return undefined;
  const all = Float64Array.from(state.nodes.map(score));
  scorer.normalize?.(all);
  return Object.fromEntries(state.nodes.map(({ name }, i) => [name, all[i] ?? 0]));
}

const zone = (name: string) => ({ labels: { "topology.kubernetes.io/zone": name } });
const app = (name: string, parts: Parameters<typeof makePod>[0] = {}) =>
  makePod({ name, labels: { app: "web" }, ...parts });

describe("resource scores", () => {
  const nodes = [makeNode("empty"), makeNode("half")];
  const pods = { half: [app("there", { requests: { cpu: "2", memory: "4Gi" } })] };

  test("prefer nodes with more unallocated resources", () => {
    const pod = makePod({ requests: { cpu: "1", memory: "2Gi" } });
    expect(scores(leastAllocated, pod, { nodes, pods })).toEqual({ empty: 75, half: 25 });
  });

  test("use default requests for a pod without requests", () => {
    expect(scores(leastAllocated, makePod(), { nodes: [makeNode("empty")] })).toEqual({ empty: 97 });
  });

  test("prefer balanced utilization", () => {
    const pod = makePod({ requests: { cpu: "2" } });
    const uneven = { half: [app("there", { requests: { memory: "4Gi" } })] };
    expect(scores(balancedAllocation, pod, { nodes, pods: uneven })).toEqual({ empty: 62, half: 87 });
  });

  test("do not balance for a pod without requests", () => {
    expect(scores(balancedAllocation, makePod(), { nodes })).toBeUndefined();
  });
});

test("prefers nodes with fewer PreferNoSchedule taints that are not tolerated", () => {
  const taint = (key: string) => ({ key, effect: "PreferNoSchedule" });
  const nodes = [
    makeNode("free"),
    makeNode("one", { taints: [taint("x")] }),
    makeNode("two", { taints: [taint("x"), taint("y")] }),
  ];
  expect(scores(toleratedTaints, makePod(), { nodes })).toEqual({ free: 100, one: 50, two: 0 });
  const tolerant = makePod({ tolerations: [{ key: "x", operator: "Exists" }] });
  expect(scores(toleratedTaints, tolerant, { nodes })).toEqual({ free: 100, one: 100, two: 0 });
});

test("prefers nodes by the weights of the matching preferences", () => {
  const prefer = (weight: number, key: string) => ({
    weight,
    preference: { matchExpressions: [{ key, operator: "Exists" }] },
  });
  const pod = makePod({
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [prefer(30, "ssd"), prefer(10, "gpu")],
      },
    },
  });
  const nodes = [
    makeNode("none"),
    makeNode("gpu", { labels: { gpu: "" } }),
    makeNode("both", { labels: { gpu: "", ssd: "" } }),
  ];
  expect(scores(preferredAffinity, pod, { nodes })).toEqual({ none: 0, gpu: 25, both: 100 });
});

test("prefers nodes that have the image, weighted by its size", () => {
  const image = (megabytes: number) => [{ names: ["app:1"], sizeBytes: megabytes * 1024 * 1024 }];
  const nodes = [makeNode("with", { images: image(1_023) }), makeNode("without")];
  expect(scores(imageLocality, makePod(), { nodes })).toEqual({ with: 50, without: 0 });
  expect(scores(imageLocality, makePod(), { nodes: [makeNode("a")] })).toBeUndefined();
});

describe("topology spread scores", () => {
  const nodes = [makeNode("a1", zone("a")), makeNode("a2", zone("a")), makeNode("b1", zone("b"))];
  const pods = { a1: [app("x"), app("y")], b1: [app("z")] };
  const constraint = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { app: "web" } },
  });

  test("prefer the domain with fewer pods", () => {
    const pod = app("new", { topologySpreadConstraints: [constraint("topology.kubernetes.io/zone")] });
    expect(scores(spreadScore, pod, { nodes, pods })).toEqual({ a1: 33, a2: 33, b1: 100 });
  });

  test("are lowest for nodes without the topology key", () => {
    const pod = app("new", { topologySpreadConstraints: [constraint("topology.kubernetes.io/zone")] });
    expect(scores(spreadScore, pod, { nodes: [...nodes, makeNode("x")], pods })).toMatchObject({
      x: 0,
      b1: 100,
    });
  });

  test("spread pods of a service by default", () => {
    const service: Service = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default" },
      spec: { selector: { app: "web" } },
    };
    const objects = { servicesIn: () => [service] };
    expect(outcome(app("new"), { nodes, pods, objects })).toBe("a2");
    expect(scores(spreadScore, app("new"), { nodes, pods })).toBeUndefined();
    expect(
      scores(spreadScore, makePod({ labels: { app: "other" } }), { nodes, pods, objects }),
    ).toBeUndefined();
  });

  test("spread pods of a StatefulSet by default", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u", controller: true };
    const pod = app("new", { metadata: { ownerReferences: [owner] } });
    const set = {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web" },
      spec: { selector: { matchLabels: { app: "web" } }, serviceName: "", template: {} },
    };
    const objects = { statefulSet: (key: string) => (key === "default/web" ? set : undefined) };
    const result = scores(spreadScore, pod, { nodes, pods, objects });
    expect(result?.a1).toBeLessThan(result?.a2 ?? 0);
    expect(result?.a2).toBe(100);
  });
});

describe("inter-pod affinity scores", () => {
  const nodes = [makeNode("a", zone("a")), makeNode("b", zone("b")), makeNode("c", zone("c"))];
  const preference = (name: string, weight = 10) => ({
    weight,
    podAffinityTerm: {
      topologyKey: "topology.kubernetes.io/zone",
      labelSelector: { matchLabels: { app: name } },
    },
  });
  const near = (...preferences: ReturnType<typeof preference>[]) => ({
    podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferences },
  });
  const apart = (...preferences: ReturnType<typeof preference>[]) => ({
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferences },
  });
  const db = makePod({ name: "db", labels: { app: "db" } });

  test.each([
    [
      "prefer nodes near pods that the pod prefers",
      makePod({ affinity: near(preference("db")) }),
      { b: [db] },
      { a: 0, b: 100, c: 0 },
    ],
    [
      "avoid nodes near pods that the pod avoids",
      makePod({ affinity: apart(preference("db")) }),
      { b: [db] },
      { a: 100, b: 0, c: 100 },
    ],
    [
      "prefer nodes near pods that prefer the pod",
      app("new"),
      { c: [makePod({ name: "x", affinity: near(preference("web")) })] },
      { a: 0, b: 0, c: 100 },
    ],
    [
      "avoid nodes near pods that avoid the pod",
      app("new"),
      { c: [makePod({ name: "x", affinity: apart(preference("web")) })] },
      { a: 100, b: 100, c: 0 },
    ],
  ])("%s", (_, pod, pods, expected) => {
    expect(scores(affinityScore, pod, { nodes, pods })).toEqual(expected);
  });

  test("are undefined without any preference", () => {
    expect(scores(affinityScore, app("new"), { nodes, pods: { a: [db] } })).toBeUndefined();
  });
});
