import { describe, expect, test } from "vitest";
import type { Pod, Service } from "../../api/objects.ts";
import { describePod } from "../pod-info.ts";
import { type Cluster, makeNode, makePod, makeState, outcome } from "../scheduling.fixture.ts";
import { affinityScore } from "./inter-pod-affinity-score.ts";
import { imageLocality, preferredAffinity, toleratedTaints } from "./node-scores.ts";
import { balancedAllocation, leastAllocated } from "./resource-scores.ts";
import type { Scorer } from "./scorer.ts";
import { spreadScore } from "./topology-spread-score.ts";

/** What one scorer says of each node, by name. */
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

describe("resources", () => {
  const nodes = [makeNode("empty"), makeNode("half")];
  const pods = { half: [app("there", { requests: { cpu: "2", memory: "4Gi" } })] };

  test("more left is better", () => {
    const pod = makePod({ requests: { cpu: "1", memory: "2Gi" } });
    expect(scores(leastAllocated, pod, { nodes, pods })).toEqual({ empty: 75, half: 25 });
  });

  test("a pod that asks for nothing is taken to need a little", () => {
    expect(scores(leastAllocated, makePod(), { nodes: [makeNode("empty")] })).toEqual({ empty: 97 });
  });

  test("use in like measure is better", () => {
    const pod = makePod({ requests: { cpu: "2" } });
    const uneven = { half: [app("there", { requests: { memory: "4Gi" } })] };
    expect(scores(balancedAllocation, pod, { nodes, pods: uneven })).toEqual({ empty: 62, half: 87 });
  });

  test("a pod that asks for nothing balances nothing", () => {
    expect(scores(balancedAllocation, makePod(), { nodes })).toBeUndefined();
  });
});

test("fewer taints that ask to stay away are better, unless they are tolerated", () => {
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

test("preferred nodes are better by the weights of what they match", () => {
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

test("nodes that have the image are better, the more so the larger it is", () => {
  const image = (megabytes: number) => [{ names: ["app:1"], sizeBytes: megabytes * 1024 * 1024 }];
  const nodes = [makeNode("with", { images: image(1_023) }), makeNode("without")];
  expect(scores(imageLocality, makePod(), { nodes })).toEqual({ with: 50, without: 0 });
  expect(scores(imageLocality, makePod(), { nodes: [makeNode("a")] })).toBeUndefined();
});

describe("spreading", () => {
  const nodes = [makeNode("a1", zone("a")), makeNode("a2", zone("a")), makeNode("b1", zone("b"))];
  const pods = { a1: [app("x"), app("y")], b1: [app("z")] };
  const constraint = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { app: "web" } },
  });

  test("the emptier topology is better", () => {
    const pod = app("new", { topologySpreadConstraints: [constraint("topology.kubernetes.io/zone")] });
    expect(scores(spreadScore, pod, { nodes, pods })).toEqual({ a1: 33, a2: 33, b1: 100 });
  });

  test("nodes without the pod's key are the worst", () => {
    const pod = app("new", { topologySpreadConstraints: [constraint("topology.kubernetes.io/zone")] });
    expect(scores(spreadScore, pod, { nodes: [...nodes, makeNode("x")], pods })).toMatchObject({
      x: 0,
      b1: 100,
    });
  });

  test("pods of a service are spread without being asked", () => {
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

  test("so are pods of a set", () => {
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "u", controller: true };
    const pod = app("new", { metadata: { ownerReferences: [owner] } });
    const set = {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web" },
      spec: { selector: { matchLabels: { app: "web" } }, serviceName: "", template: {} },
    };
    const objects = { statefulSet: (key: string) => (key === "default/web" ? set : undefined) };
    const said = scores(spreadScore, pod, { nodes, pods, objects });
    expect(said?.a1).toBeLessThan(said?.a2 ?? 0);
    expect(said?.a2).toBe(100);
  });
});

describe("wishes between pods", () => {
  const nodes = [makeNode("a", zone("a")), makeNode("b", zone("b")), makeNode("c", zone("c"))];
  const wish = (name: string, weight = 10) => ({
    weight,
    podAffinityTerm: {
      topologyKey: "topology.kubernetes.io/zone",
      labelSelector: { matchLabels: { app: name } },
    },
  });
  const near = (...wishes: ReturnType<typeof wish>[]) => ({
    podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: wishes },
  });
  const apart = (...wishes: ReturnType<typeof wish>[]) => ({
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: wishes },
  });
  const db = makePod({ name: "db", labels: { app: "db" } });

  test.each([
    ["near whom it wants", makePod({ affinity: near(wish("db")) }), { b: [db] }, { a: 0, b: 100, c: 0 }],
    [
      "far from whom it does not",
      makePod({ affinity: apart(wish("db")) }),
      { b: [db] },
      { a: 100, b: 0, c: 100 },
    ],
    [
      "near who wants it",
      app("new"),
      { c: [makePod({ name: "x", affinity: near(wish("web")) })] },
      { a: 0, b: 0, c: 100 },
    ],
    [
      "far from who does not",
      app("new"),
      { c: [makePod({ name: "x", affinity: apart(wish("web")) })] },
      { a: 100, b: 100, c: 0 },
    ],
  ])("%s", (_, pod, pods, expected) => {
    expect(scores(affinityScore, pod, { nodes, pods })).toEqual(expected);
  });

  test("nobody who wishes for anything", () => {
    expect(scores(affinityScore, app("new"), { nodes, pods: { a: [db] } })).toBeUndefined();
  });
});
