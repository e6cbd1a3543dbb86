import type { Node } from "../../api/objects.ts";
import type { Taint } from "../../api/tolerates-taint.ts";
import { ago } from "../workload.fixture.ts";

interface NodeParts {
  readonly name?: string;
  /** Left out for one that was never heard of. */
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
