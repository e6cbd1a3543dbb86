import { describe, expect, test } from "vitest";
import type { Pod, PodSpec } from "../../api/meta/objects.ts";
import { makeNode, makePod, outcome } from "../model/scheduling.fixture.ts";

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
    what: "affinity selects the zone of a matching pod",
    pod: pod("web", { affinity: near(to("db")) }),
    pods: { b1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "affinity without a matching pod rejects all nodes",
    pod: pod("web", { affinity: near(to("db")) }),
    expected: "0/3 nodes are available: 3 node(s) didn't match pod affinity rules. ",
  },
  {
    what: "the first pod with affinity to itself is accepted",
    pod: pod("web", { affinity: near(to("web")) }),
    expected: "a1",
  },
  {
    what: "a further pod with affinity to itself joins the first",
    pod: makePod({ name: "second", labels: { app: "web" }, affinity: near(to("web")) }),
    pods: { b1: [pod("web")] },
    expected: "b1",
  },
  {
    what: "several terms require a pod that matches all of them",
    pod: pod("web", { affinity: near(to("db"), to("db", onHost)) }),
    pods: { b1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "affinity ignores pods of other namespaces",
    pod: pod("web", { affinity: near(to("db", { namespaces: ["data"] })) }),
    pods: { b1: [pod("db", { namespace: "data" })], a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "affinity includes pods of selected namespaces",
    pod: pod("web", { affinity: near(to("db", { namespaceSelector: { matchLabels: { tier: "data" } } })) }),
    pods: { b1: [pod("db", { namespace: "data" })], a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "affinity without a selector matches no pod",
    pod: pod("web", { affinity: near(to("db", { labelSelector: undefined })) }),
    pods: { b1: [pod("db")] },
    expected: "3 node(s) didn't match pod affinity rules",
  },
  {
    what: "anti-affinity avoids the zone of a matching pod",
    pod: pod("web", { affinity: apart(to("db")) }),
    pods: { a1: [pod("db")] },
    expected: "b1",
  },
  {
    what: "anti-affinity rejects all nodes when every zone has a match",
    pod: pod("web", { affinity: apart(to("db")) }),
    pods: { a1: [pod("db")], b1: [makePod({ name: "db2", labels: { app: "db" } })] },
    expected: "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules. ",
  },
  {
    what: "affinity of an existing pod is not required",
    pod: pod("web"),
    pods: { a1: [pod("db", { affinity: near(to("web")) })] },
    expected: "a2",
  },
  {
    what: "required anti-affinity of an existing pod excludes its zone",
    pod: pod("web"),
    pods: {
      a1: [pod("db", { affinity: apart(to("web")) })],
      b1: [makePod({ name: "db2", affinity: apart(to("web")) })],
    },
    expected: "0/3 nodes are available: 3 node(s) didn't satisfy existing pods anti-affinity rules. ",
  },
  {
    what: "required anti-affinity by host excludes only that host",
    pod: pod("web", { nodeSelector: { [zoneKey]: "a" } }),
    pods: { a1: [pod("db", { affinity: apart(to("web", onHost)) })] },
    expected: "a2",
  },
  {
    what: "anti-affinity of a pod in another namespace applies through its namespace selector",
    pod: pod("web", { namespace: "data" }),
    pods: {
      b1: [
        pod("db", { affinity: apart(to("web", { namespaceSelector: { matchLabels: { tier: "data" } } })) }),
      ],
    },
    expected: "a1",
  },
];

describe("inter-pod affinity", () => {
  test.each(rows)("$what", ({ pod: wanted, pods = {}, expected }) => {
    const namespaces = { default: {}, data: { tier: "data" } };
    expect(outcome(wanted, { nodes, pods, namespaces })).toContain(expected);
  });
});
