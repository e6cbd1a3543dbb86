import type { Features } from "../../api/meta/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import type { ObservedPod } from "../model/observed-pod.ts";
import type { CombinedProbeResult } from "../model/prober.ts";

export interface StartProblem {
  readonly reason: string;
  readonly message: string;
}

/** Reason why the kubelet terminates a pod. The pod is Failed when none of its containers runs any more. */
export interface TerminationReason {
  readonly kind: "deadline" | "rejected" | "shutdown";
  readonly reason: string;
  readonly message: string;
}

export type PodTermination =
  | TerminationReason
  /** The pod was deleted or has completed, and all of its containers have stopped. */
  | { readonly kind: "terminated" };

/** Input of generatePodStatus. */
export interface StatusFacts {
  /** Pod in the API: conditions of other writers and a final phase are taken from its status. */
  readonly pod: Pod;
  /** State in the runtime; undefined if the runtime has nothing of the pod. */
  readonly observed: ObservedPod | undefined;
  /**
   * Whether this is the first status that this kubelet generates for the pod. A sandbox that is ready then was created by a
   * previous kubelet, which may not have been able to write it. Defaults to false.
   */
  readonly isFirst?: boolean;
  /** Last written or last seen status: transition times, restart counts and last states continue from it. */
  readonly previous: PodStatus | undefined;
  /** Problems that keep containers from starting, by container name. */
  readonly problems: ReadonlyMap<string, StartProblem>;
  /** Problem that keeps the sandbox from starting: volumes, network or runtime handler. */
  readonly sandboxProblem: StartProblem | undefined;
  /** Probe results of a running container, by its CRI id. */
  readonly probeResult: (containerId: string) => CombinedProbeResult;
  readonly termination: PodTermination | undefined;
  /** Addresses of the node, the primary one first. */
  readonly hostIps: readonly string[];
  /** Name of the runtime, which is the scheme of container ids. */
  readonly runtimeName: string;
  /** Whether the pod's runtime handler supports recursive read-only mounts. Defaults to false. */
  readonly recursiveReadOnlyMounts?: boolean;
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Previous status: the last generated one, or the one in the API. */
export function previousOf({ previous, pod }: Pick<StatusFacts, "previous" | "pod">): PodStatus {
  return previous ?? pod.status ?? {};
}
