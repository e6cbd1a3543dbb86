import { conditionOf } from "../../../src/api/meta/object-facts.ts";
import type { ConfigMap, Pod } from "../../../src/api/meta/objects.ts";
import { makeConfigMap } from "../manifests/config-map.ts";
import type { KubeletNode } from "./kubelet-node.ts";

/** KEP-3815's condition. */
export const failingToStart = "FailingToStart";

export const isFailing = (pod: Pod) => conditionOf(pod, failingToStart)?.status === "True";

/** Of all its conditions, by type. */
export const statusesOf = (pod: Pod) =>
  Object.fromEntries((pod.status?.conditions ?? []).map(({ type, status }) => [type, status]));

export const waitingOf = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state?.waiting;

/** As the proposal lists them for a pod whose containers cannot be started. */
export const stuckConditions = {
  Initialized: "True",
  Ready: "False",
  ContainersReady: "False",
  PodScheduled: "True",
  PodReadyToStartContainers: "True",
};

export function createConfigMap(
  node: KubeletNode,
  name: string,
  data: Record<string, string>,
): Promise<ConfigMap> {
  return node.client.create("configmaps", makeConfigMap(name, { data }));
}

/** An environment with a key of a config map. */
export function fromConfigMap(name: string, key: string) {
  return [{ name: "SPECIAL", valueFrom: { configMapKeyRef: { name, key } } }];
}
