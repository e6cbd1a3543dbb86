import type { Snapshot } from "../model/informers.ts";
import type { NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";

/** Upstream names of the filter plugins. */
export type PluginName =
  | "NodeUnschedulable"
  | "NodeName"
  | "TaintToleration"
  | "NodeAffinity"
  | "NodePorts"
  | "NodeResourcesFit"
  | "VolumeRestrictions"
  | "VolumeBinding"
  | "VolumeZone"
  | "PodTopologySpread"
  | "InterPodAffinity";

/** Reasons why a pod does not fit a node. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether removing pods from the node could resolve the rejection. */
  readonly isResolvable: boolean;
}

export type Check = (node: NodeInfo) => Rejection | undefined;

/** Result of a filter's per-pod preparation. */
export type Prepared =
  /** The filter accepts every node. */
  | { readonly kind: "pass" }
  /** The filter rejects every node. */
  | { readonly kind: "reject"; readonly reason: string }
  | {
      readonly kind: "check";
      readonly check: Check;
      /** Restricts the search to these nodes. Default: all nodes. */
      readonly nodeNames?: ReadonlySet<string>;
    };

export interface Filter {
  readonly name: PluginName;
  /** Throws when the pod or an object that it references is invalid. */
  prepare(pod: PodInfo, snapshot: Snapshot): Prepared;
}

export const pass: Prepared = { kind: "pass" };

/** Rejection that removing pods cannot resolve (upstream: UnschedulableAndUnresolvable). */
export function unresolvable(...reasons: string[]): Rejection {
  return { reasons, isResolvable: false };
}

/** Rejection that removing pods from the node could resolve (upstream: Unschedulable). */
export function resolvable(...reasons: string[]): Rejection {
  return { reasons, isResolvable: true };
}
