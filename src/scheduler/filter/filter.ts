import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";

/** Upstream's names of what can turn a pod away. */
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

/** Why a pod cannot be on a node. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether it would be possible with some of the node's pods gone. */
  readonly canPodsHelp: boolean;
}

export type Check = (node: NodeInfo) => Rejection | undefined;

/** What a filter makes of a pod before it looks at single nodes. */
export type Prepared =
  /** Any node will do. */
  | { readonly kind: "pass" }
  /** No node will do. */
  | { readonly kind: "reject"; readonly reason: string }
  | {
      readonly kind: "check";
      readonly check: Check;
      /** When only these can do. */
      readonly nodeNames?: ReadonlySet<string>;
    };

export interface Filter {
  readonly name: PluginName;
  /** Throws when it cannot be known, with an error that says why. */
  prepare(pod: PodInfo, snapshot: Snapshot): Prepared;
}

export const pass: Prepared = { kind: "pass" };

export function final(...reasons: string[]): Rejection {
  return { reasons, canPodsHelp: false };
}

export function dueToPods(...reasons: string[]): Rejection {
  return { reasons, canPodsHelp: true };
}
