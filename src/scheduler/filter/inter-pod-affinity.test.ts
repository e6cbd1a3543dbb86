import { describe, expect, test } from "vitest";
import type { Pod, PodSpec } from "../../api/objects.ts";
import { makeNode, makePod, outcome } from "../scheduling.fixture.ts";

type Affinity = NonNullable<PodSpec["affinity"]>;
type Term = NonNullable<
  NonNullable<Affinity["podAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];

const zoneKey = "topology.kubernetes.io/zone";
const nodes = [
  makeNode("a1", { labels: { [zoneKey]: "a" } }),
  makeNode("a2", { labels: { [zoneKey]: "a" } }),
  makeNode("b1", { labels: { [zoneKey]: "b" } }),
];
const to = (app: string, parts: Partial<Term> = {}): Term => ({
  topologyKey: zoneKey,
  labelSelector: { matchLabels: { app } },
  ...parts,
});
const near = (...terms: Term[]): Affinity => ({
  podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
});
const apart = (...terms: Term[]): Affinity => ({
  podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms },
});
const pod = (app: string, parts = {}) => makePod({ name: app, labels: { app }, ...parts });
const onHost = { topologyKey: "kubernetes.io/hostname" };

interface Row {
  what: string;
  pod: Pod;
  pods?: Record<string, Pod[]>;
  expected: string;
}

const rows: Row[] = [
  {
    what: "near another pod",
    pod: pod("web", { affinity: near(to("db")) }),
    pods: { b1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "near a pod that is not there",
    pod: pod("web", { affinity: near(to("db")) }),
    expected: "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. ",
  },
  {
    what: "near its own kind, as the first",
    pod: pod("web", { affinity: near(to("web")) }),
    expected: "a1",
  },
  {
    what: "near its own kind, where that is",
    pod: makePod({ name: "second", labels: { app: "web" }, affinity: near(to("web")) }),
    pods: { b1: [pod("web")] },
    expected: "b1",
  },
  {
    what: "near both, where a pod must match both",
    pod: pod("web", { affinity: near(to("db"), to("db", onHost)) }),
    pods: { b1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "near a pod of another namespace",
    pod: pod("web", { affinity: near(to("db", { namespaces: ["data"] })) }),
    pods: { b1: [pod("db", { namespace: "data" })], a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "near a pod of a selected namespace",
    pod: pod("web", { affinity: near(to("db", { namespaceSelector: { matchLabels: { tier: "data" } } })) }),
    pods: { b1: [pod("db", { namespace: "data" })], a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "near a pod by a selector that is missing",
    pod: pod("web", { affinity: near(to("db", { labelSelector: undefined })) }),
    pods: { b1: [pod("db")] },
    expected: "3 node(s) didn't match pod affinity rules",
  },
  {
    what: "apart from another pod",
    pod: pod("web", { affinity: apart(to("db")) }),
    pods: { a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "apart, with no place left",
    pod: pod("web", { affinity: apart(to("db")) }),
    pods: { a1: [pod("db")], b1: [makePod({ name: "db2", labels: { app: "db" } })] },
    expected: "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. ",
  },
  {
    what: "near a pod that wants this one near, if that can be",
    pod: pod("web"),
    pods: { a1: [pod("db", { affinity: near(to("web")) })] },
    expected: "a2",
  },
  {
    what: "a pod that wants this one apart",
    pod: pod("web"),
    pods: {
      a1: [pod("db", { affinity: apart(to("web")) })],
      b1: [makePod({ name: "db2", affinity: apart(to("web")) })],
    },
    expected: "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules. ",
  },
  {
    what: "a pod that wants this one off its host only",
    pod: pod("web", { nodeSelector: { [zoneKey]: "a" } }),
    pods: { a1: [pod("db", { affinity: apart(to("web", onHost)) })] },
    expected: "a2",
  },
  {
    what: "a pod of another namespace that selects this one's",
    pod: pod("web", { namespace: "data" }),
    pods: {
      b1: [
        pod("db", { affinity: apart(to("web", { namespaceSelector: { matchLabels: { tier: "data" } } })) }),
      ],
    },
    expected: "a1",
  },
];

describe("affinity between pods", () => {
  test.each(rows)("$what", ({ pod: wanted, pods = {}, expected }) => {
    const namespaces = { default: {}, data: { tier: "data" } };
    expect(outcome(wanted, { nodes, pods, namespaces })).toContain(expected);
  });
});
