import type { Interval } from "../../api/meta/ip-range.ts";
import type { Labels } from "../../api/meta/selector.ts";
import type { IpFamily } from "../../api/meta/validate-ip.ts";

export type Direction = "ingress" | "egress";
export type Protocol = "TCP" | "UDP" | "SCTP";

/** Pod with its own network. Pods in the network of their node are not subject to policies. */
export interface PolicyPod {
  readonly namespace: string;
  readonly labels: Labels;
  /** Canonical addresses, of any family. */
  readonly addresses: readonly string[];
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly port: number }[];
  /** Whether this node runs the pod, and therefore isolates it. */
  readonly isLocal: boolean;
}

/**
 * Rules that enforce network policies, for both families. A pod that policies select is isolated: its address leads to a
 * group, which has the policies of the pod and drops what none of them allows. Pods with the same policies share a group.
 */
export interface RuleSet {
  /** Addresses of this node's pods. */
  readonly pods: ReadonlySet<string>;
  /** Group of each isolated address of this node, by direction. */
  readonly isolated: Readonly<Record<Direction, ReadonlyMap<string, string>>>;
  /** Names of the policies of each group. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
  readonly policies: ReadonlyMap<string, PolicyRules>;
  /** Addresses of pods that the peers of a rule select, by name of the set. */
  readonly peers: ReadonlyMap<string, ReadonlySet<string>>;
  /** Ports of pods by name of the set. */
  readonly namedPorts: ReadonlyMap<string, readonly NamedPort[]>;
}

/** Rules of one policy in one direction. A connection is allowed if one of them matches. */
export interface PolicyRules {
  readonly direction: Direction;
  readonly rules: readonly AllowRule[];
}

export interface AllowRule {
  /** Undefined: any. */
  readonly peers?: {
    /** Name of a set in `peers`. */
    readonly pods?: string;
    readonly blocks: Readonly<Record<IpFamily, readonly Interval[]>>;
  };
  /** Undefined: any, of all protocols. */
  readonly ports?: {
    readonly numbers: ReadonlyMap<Protocol, readonly Interval[]>;
    /** Names of sets in `namedPorts`. */
    readonly names: readonly string[];
  };
}

export interface NamedPort {
  readonly address: string;
  readonly protocol: Protocol;
  readonly port: number;
}
