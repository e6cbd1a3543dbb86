import type { ContainerStatus, PodSpec } from "../../../api/objects.ts";
import { isSidecar } from "../../../api/pod-resources.ts";
import { isFalse, isTrue, namingContainers, type Verdict } from "./verdict.ts";

const type = "ContainersReady";

/** Whether all containers and sidecars are ready. */
export function containersReady(spec: PodSpec, statuses: readonly ContainerStatus[], phase: string): Verdict {
  // Some may still be on their way out: a pod that has failed is not ready.
  if (phase === "Failed") return isFalse(type, "PodFailed");
  if (statuses.length === 0) return isFalse(type, "UnknownContainerStatuses");
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const names = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers].map(
    ({ name }) => name,
  );
  const unknown = names.filter((name) => !byName.has(name));
  const unready = names.filter((name) => byName.get(name)?.ready === false);
  if (phase === "Succeeded" && unknown.length === 0) return isFalse(type, "PodCompleted");
  const message = [...namingContainers("unknown", unknown), ...namingContainers("unready", unready)].join(
    ", ",
  );
  return message ? isFalse(type, "ContainersNotReady", message) : isTrue(type);
}
