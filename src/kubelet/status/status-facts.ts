import type { Features } from "../../api/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/objects.ts";
import type { ObservedPod } from "../observed-pod.ts";
import type { ProbeVerdict } from "../probe/prober.ts";

export interface StartProblem {
  readonly reason: string;
  readonly message: string;
}

/** The kubelet ends the pod for good: it is Failed once nothing of it runs any more. */
export interface EarlyEnding {
  readonly kind: "deadline" | "rejected" | "shutdown";
  readonly reason: string;
  readonly message: string;
}

export type PodEnding =
  | EarlyEnding
  /** The pod was deleted, or has done its work, and all of it has been stopped. */
  | { readonly kind: "terminated" };

/** All that a pod's status is made from. */
export interface StatusFacts {
  /** As the API has it: conditions that others wrote, and a phase that has ended, are taken from its status. */
  readonly pod: Pod;
  /** What the runtime has; undefined when it was asked and has nothing of the pod. */
  readonly observed: ObservedPod | undefined;
  /** Last written or last seen: transition times, restart counts and last states continue from it. */
  readonly previous: PodStatus | undefined;
  /** By container name: why it is not started. */
  readonly problems: ReadonlyMap<string, StartProblem>;
  /** Why there is no sandbox: volumes, network, runtime handler. */
  readonly sandboxProblem: StartProblem | undefined;
  /** What the probes say of a container that runs, by its CRI id. */
  readonly verdict: (containerId: string) => ProbeVerdict;
  readonly ending: PodEnding | undefined;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  /** As the runtime calls itself: the scheme of container ids. */
  readonly runtimeName: string;
  /** Of the pod's runtime handler; unless told it cannot. */
  readonly recursiveReadOnlyMounts?: boolean;
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What came before: the last status that was generated, else the one that the API has. */
export function previousOf({ previous, pod }: Pick<StatusFacts, "previous" | "pod">): PodStatus {
  return previous ?? pod.status ?? {};
}
