// Clauses: 3815-9
import type { Pod, PodStatus } from "../../../api/meta/objects.ts";
import { containersOf } from "../../../api/pod/pod-containers.ts";
import { statusesIn, stuckContainers } from "../../../explain/failing-to-start.ts";
import type { ObservedPod } from "../../model/observed-pod.ts";
import type { StartProblem } from "../status-facts.ts";

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
