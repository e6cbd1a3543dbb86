import type { Node } from "../../api/meta/objects.ts";
import type { Taint } from "../../api/pod/node-matcher.ts";
import { ago } from "../shared/workload.fixture.ts";

interface NodeParts {
  readonly name?: string;
  /** Status of the Ready condition. Omitted for a node whose kubelet never posted one. */
  readonly ready?: "True" | "False" | "Unknown";
  readonly conditions?: Readonly<Record<string, string>>;
  readonly taints?: Taint[];
  readonly unschedulable?: boolean;
  readonly labels?: Record<string, string>;
}

export function nodeOf({
  name = "n1",
  ready,
  conditions,
  taints,
  unschedulable,
  labels,
}: NodeParts = {}): Node {
  const all = { ...(ready && { Ready: ready }), ...conditions };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, creationTimestamp: ago(900), ...(labels && { labels }) },
    spec: { ...(taints && { taints }), ...(unschedulable && { unschedulable }) },
    status: {
      conditions: Object.entries(all).map(([type, status]) => ({
        type,
        status,
        reason: "Kubelet",
        message: "",
        lastHeartbeatTime: ago(60),
        lastTransitionTime: ago(600),
      })),
    },
  };
}
