import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../api/meta/objects.ts";
import type { PluginName } from "../filters/filter.ts";
import { createNodeInfo } from "../model/node-info.ts";
import { describePod } from "../model/pod-info.ts";
import { makeNode, makeObjects, makePod } from "../model/scheduling.fixture.ts";
import { type ClusterChange, queueingHints } from "./queueing-hints.ts";

const objects = makeObjects({ namespaces: { default: {} } });
const isHelped = (change: ClusterChange, plugin: PluginName, pod: Pod) =>
  queueingHints(change, objects)[plugin]?.(describePod(pod)) ?? false;
const plain = makeNode("n");
const node = (now: Node, before?: Node): ClusterChange => ({
  kind: "node",
  node: createNodeInfo(now, []),
  previous: before && createNodeInfo(before, []),
});
const gone = (pod: Pod, from: Node = plain): ClusterChange => ({
  kind: "podGone",
  pod: describePod(pod),
  node: createNodeInfo(from, []),
});
const placed = (pod: Pod): ClusterChange => ({ kind: "podPlaced", pod: describePod(pod) });

const tainted = makeNode("n", { taints: [{ key: "k", effect: "NoSchedule" }] });
const large = makePod({ requests: { cpu: "6" } });
const selective = makePod({ nodeSelector: { disk: "ssd" } });
const withDisk = makeNode("n", { labels: { disk: "ssd" } });
const onPort = (hostPort: number) =>
  makePod({ containers: [{ name: "c", ports: [{ containerPort: 1, hostPort }] }] });
const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "db" } } };
const near = makePod({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
});
const apart = makePod({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
});
const db = makePod({ name: "db", labels: { app: "db" } });
const claimer = makePod({ volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] });
const onDisk = (namespace?: string) =>
  makePod({ namespace, volumes: [{ name: "d", gcePersistentDisk: { pdName: "d" } }] });
const spreading = makePod({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app: "db" } },
    },
  ],
});
const claim = (name: string): ClusterChange => ({ kind: "claim", namespace: "default", name });

const rows: [string, ClusterChange, PluginName, Pod, boolean][] = [
  ["a new node", node(plain), "NodeUnschedulable", makePod(), true],
  [
    "a new node that is cordoned",
    node(makeNode("n", { unschedulable: true })),
    "NodeUnschedulable",
    makePod(),
    false,
  ],
  [
    "an uncordoned node",
    node(plain, makeNode("n", { unschedulable: true })),
    "NodeUnschedulable",
    makePod(),
    true,
  ],
  ["a heartbeat", node(plain, plain), "NodeResourcesFit", makePod(), false],
  ["a heartbeat", node(plain, plain), "InterPodAffinity", near, false],
  ["a removed taint", node(plain, tainted), "TaintToleration", makePod(), true],
  ["an added taint", node(tainted, plain), "TaintToleration", makePod(), false],
  ["a label that matches", node(withDisk, plain), "NodeAffinity", selective, true],
  [
    "a label that does not match",
    node(makeNode("n", { labels: { disk: "hdd" } }), plain),
    "NodeAffinity",
    selective,
    false,
  ],
  ["a new node that is too small", node(plain), "NodeResourcesFit", large, false],
  [
    "a node with more allocatable CPU",
    node(makeNode("n", { allocatable: { cpu: "8" } }), plain),
    "NodeResourcesFit",
    large,
    true,
  ],
  [
    "a node with more of another resource",
    node(
      makeNode("n", { allocatable: { cpu: "8", memory: "9Gi" } }),
      makeNode("n", { allocatable: { cpu: "8" } }),
    ),
    "NodeResourcesFit",
    large,
    false,
  ],
  ["a deleted node", { kind: "nodeGone" }, "PodTopologySpread", spreading, true],
  ["a deleted pod", gone(db), "NodeResourcesFit", makePod(), true],
  ["a deleted pod that freed too little", gone(db), "NodeResourcesFit", large, false],
  ["a deleted pod", gone(db), "TaintToleration", large, false],
  ["a pod with the port", gone(onPort(80)), "NodePorts", onPort(80), true],
  ["a pod with another port", gone(onPort(81)), "NodePorts", onPort(80), false],
  ["a pod with the claim", gone(claimer), "VolumeRestrictions", claimer, true],
  ["a pod without the claim", gone(db), "VolumeRestrictions", claimer, false],
  [
    "a pod of another namespace with a claim of the same name",
    gone({ ...claimer, metadata: { ...claimer.metadata, namespace: "other" } }),
    "VolumeRestrictions",
    claimer,
    false,
  ],
  ["a pod with the disk, of any namespace", gone(onDisk("other")), "VolumeRestrictions", onDisk(), true],
  ["a deleted pod that matched the anti-affinity", gone(db), "InterPodAffinity", apart, true],
  ["a deleted pod that did not match", gone(makePod()), "InterPodAffinity", apart, false],
  ["a deleted pod with anti-affinity to the pod", gone(apart), "InterPodAffinity", db, true],
  ["a bound pod that matches the affinity", placed(db), "InterPodAffinity", near, true],
  ["a bound pod that matches the anti-affinity", placed(db), "InterPodAffinity", apart, false],
  ["a bound pod that a spread constraint counts", placed(db), "PodTopologySpread", spreading, true],
  ["a bound pod that is not counted", placed(makePod()), "PodTopologySpread", spreading, false],
  ["the pod's claim", claim("data"), "VolumeBinding", claimer, true],
  ["another claim", claim("other"), "VolumeBinding", claimer, false],
  ["a volume", { kind: "volume" }, "VolumeBinding", claimer, true],
  ["a storage class", { kind: "storageClass" }, "VolumeBinding", claimer, true],
  ["a namespace", { kind: "namespace" }, "InterPodAffinity", near, true],
];

describe("a pod is retried after", () => {
  test.each(rows)("%s (%#)", (_, change, plugin, pod, expected) => {
    expect(isHelped(change, plugin, pod)).toBe(expected);
  });
});
