import { expect, test } from "vitest";
import type { DaemonSet, Node } from "../../api/meta/objects.ts";
import { isUpdated, newDaemonPod, placementOf, targetNodeOf } from "./daemon-pod.ts";
import { hash, nodeOf, noExecute, noSchedule, podOn, setOf } from "./daemon-set.fixture.ts";

const affinityOf = (values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values }] }],
    },
  },
});
const condition = (name: string, effect: string) => ({ key: `node.kubernetes.io/${name}`, effect });
const withTaints = (...taints: { key: string; effect: string }[]) => nodeOf("a", { taints });

test.each<[string, DaemonSet, Node, string]>([
  ["any node", setOf(), nodeOf("a"), "run"],
  [
    "a node with the labels of nodeSelector",
    setOf({}, { nodeSelector: { disk: "ssd" } }),
    nodeOf("a", { labels: { disk: "ssd" } }),
    "run",
  ],
  [
    "a node without the labels of nodeSelector",
    setOf({}, { nodeSelector: { disk: "ssd" } }),
    nodeOf("a"),
    "none",
  ],
  [
    "a node that the affinity selects",
    setOf({}, { affinity: affinityOf(["ssd"]) }),
    nodeOf("a", { labels: { disk: "ssd" } }),
    "run",
  ],
  [
    "a node that the affinity does not select",
    setOf({}, { affinity: affinityOf(["hdd"]) }),
    nodeOf("a", { labels: { disk: "ssd" } }),
    "none",
  ],
  ["the node of nodeName", setOf({}, { nodeName: "a" }), nodeOf("a"), "run"],
  ["another node than nodeName", setOf({}, { nodeName: "b" }), nodeOf("a"), "none"],
  ["a taint NoSchedule", setOf(), withTaints(noSchedule), "keep"],
  ["a taint NoExecute", setOf(), withTaints(noExecute), "none"],
  ["a taint PreferNoSchedule", setOf(), withTaints({ key: "x", effect: "PreferNoSchedule" }), "run"],
  ["a tolerated taint", setOf({}, { tolerations: [{ operator: "Exists" }] }), withTaints(noExecute), "run"],
  ["a cordoned node", setOf(), withTaints(condition("unschedulable", "NoSchedule")), "run"],
  ["a node that is not ready", setOf(), withTaints(condition("not-ready", "NoExecute")), "run"],
  [
    "a node that is not ready and must not get pods",
    setOf(),
    withTaints(condition("not-ready", "NoSchedule")),
    "keep",
  ],
  ["an unreachable node", setOf(), withTaints(condition("unreachable", "NoExecute")), "run"],
  [
    "a node under pressure",
    setOf(),
    withTaints(
      condition("disk-pressure", "NoSchedule"),
      condition("memory-pressure", "NoSchedule"),
      condition("pid-pressure", "NoSchedule"),
    ),
    "run",
  ],
  ["a node without network", setOf(), withTaints(condition("network-unavailable", "NoSchedule")), "keep"],
  [
    "a node without network, in the host's network",
    setOf({}, { hostNetwork: true }),
    withTaints(condition("network-unavailable", "NoSchedule")),
    "run",
  ],
])("placement on %s", (_, set, node, expected) => {
  expect(placementOf(set)(node)).toBe(expected);
});

test("a pod selects its node by name, tolerates problems of the node and is labeled with its template", () => {
  const own = { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" };
  const set = setOf({}, { affinity: affinityOf(["ssd"]), tolerations: [own] });
  const pod = newDaemonPod(set, { node: "a", hash });
  expect(pod.metadata).toMatchObject({
    generateName: "agent-",
    labels: { app: "agent", "controller-revision-hash": hash, "pod-template-generation": "2" },
    ownerReferences: [{ kind: "DaemonSet", name: "agent", controller: true }],
  });
  expect(pod.spec?.affinity).toEqual({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] }],
      },
    },
  });
  expect(pod.spec?.tolerations?.map(({ key, effect }) => `${key?.split("/")[1]}:${effect}`)).toEqual([
    "not-ready:NoExecute",
    "unreachable:NoExecute",
    "disk-pressure:NoSchedule",
    "memory-pressure:NoSchedule",
    "pid-pressure:NoSchedule",
    "unschedulable:NoSchedule",
  ]);
  expect(targetNodeOf(pod)).toBe("a");
  expect(set.spec?.template.spec?.tolerations).toEqual([own]);
});

test("a pod is updated if its hash or its template generation is the current one", () => {
  const generation = (text: string) => podOn("a", "old", { labels: { "pod-template-generation": text } });
  expect(isUpdated(podOn("a", "new"), setOf(), hash)).toBe(true);
  expect(isUpdated(podOn("a", "old"), setOf(), hash)).toBe(false);
  expect(isUpdated(generation("2"), setOf(), hash)).toBe(true);
  expect(isUpdated(generation("1"), setOf(), hash)).toBe(false);
});
