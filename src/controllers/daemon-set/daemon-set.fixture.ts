import type { DaemonSet, Node, Pod } from "../../api/meta/objects.ts";
import type { Taint } from "../../api/pod/node-matcher.ts";
import { now, type PodParts, podOf } from "../shared/workload.fixture.ts";
import { type DaemonSetFacts, observeDaemonSet } from "./daemon-set-facts.ts";

type Spec = NonNullable<DaemonSet["spec"]>;
type PodSpec = NonNullable<Spec["template"]["spec"]>;

/** Hash of the current template in tests. Pods of other templates have the label `old`. */
export const hash = "new";

export function setOf(spec: Partial<Spec> = {}, podSpec: Partial<PodSpec> = {}): DaemonSet {
  const annotations = { "deprecated.daemonset.template.generation": "2" };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "default", uid: "uid-agent", generation: 2, annotations },
    spec: {
      selector: { matchLabels: { app: "agent" } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      ...spec,
      template: {
        metadata: { labels: { app: "agent" } },
        spec: { containers: [{ name: "c", image: "agent:1" }], ...podSpec },
      },
    },
  };
}

export function nodeOf(
  name: string,
  parts: { taints?: Taint[]; labels?: Record<string, string> } = {},
): Node {
  const { taints, labels = {} } = parts;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    spec: { ...(taints && { taints }) },
  };
}

/** A pod `NODE-REVISION` on a node. It is ready unless `readyFor` is undefined. */
export function podOn(node: string, revision: "new" | "old", parts: PodParts = {}): Pod {
  const labels = { app: "agent", "controller-revision-hash": revision };
  return podOf({ name: `${node}-${revision}`, node, labels, readyFor: 100, ...parts });
}

export const noSchedule: Taint = { key: "dedicated", value: "gpu", effect: "NoSchedule" };
export const noExecute: Taint = { key: "dedicated", value: "gpu", effect: "NoExecute" };

export function factsOf({
  set = setOf(),
  nodes = [],
  pods = [],
}: {
  set?: DaemonSet;
  nodes?: readonly Node[];
  pods?: readonly Pod[];
}): DaemonSetFacts {
  return observeDaemonSet({ set, hash, nodes, pods, now });
}
