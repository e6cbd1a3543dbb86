// Clauses: 3815-9
import type { Features } from "../../api/meta/feature-gates.ts";
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import { statusesIn, stuckContainers } from "../../explain/failing-to-start.ts";
import type { CombinedProbeResult, ObservedPod } from "../model/observed-pod.ts";

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

/**
 * Start problems, by container name, that a previous kubelet wrote to the pod's status. A restarted kubelet keeps
 * reporting them until it has tried to start the container itself. Containers that were created since, or whose image
 * was changed, are left out.
 */
export function recoverProblems({
  pod,
  previous = {},
  observed,
}: {
  readonly pod: Pod;
  readonly previous: PodStatus | undefined;
  readonly observed: ObservedPod | undefined;
}): ReadonlyMap<string, StartProblem> {
  const images = new Map(containersOf(pod.spec).map(({ name, image = "" }) => [name, image]));
  const problems = stuckContainers(statusesIn(previous)).filter(({ name, status }) => {
    const newest = observed?.containers.find((container) => container.name === name);
    if (newest) return status.containerID?.endsWith(`://${newest.id}`) ?? false;
    // In the status of a created container, the image has the runtime's name.
    return status.containerID !== undefined || status.image === images.get(name);
  });
  return new Map(problems.map(({ name, reason, message }) => [name, { reason, message }]));
}
