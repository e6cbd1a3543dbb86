import type { ContainerStatus, PodSpec } from "../../../api/objects.ts";
import { isSidecar } from "../../../api/pod-resources.ts";
import { isFalse, isTrue, namingContainers, type Verdict } from "./verdict.ts";

const type = "Initialized";

/** Whether init containers have done their work and sidecars are up. With neither it is true from the start. */
export function initialized(spec: PodSpec, statuses: readonly ContainerStatus[], phase: string): Verdict {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const initContainers = spec.initContainers ?? [];
  if (initContainers.length > 0 && statuses.length === 0) return isFalse(type, "UnknownContainerStatuses");
  const unknown = initContainers.filter(({ name }) => !byName.has(name));
  const incomplete = initContainers.filter((container) => {
    const status = byName.get(container.name);
    return status && !(isSidecar(container) ? status.started : status.ready);
  });
  if (phase === "Succeeded" && unknown.length === 0) return isTrue(type, "PodCompleted");
  // A sidecar that restarts does not undo what has been done.
  if (spec.containers.some(({ name }) => hasStarted(byName.get(name)))) return isTrue(type);
  const message = [
    ...namingContainers(
      "unknown",
      unknown.map(({ name }) => name),
    ),
    ...namingContainers(
      "incomplete",
      incomplete.map(({ name }) => name),
    ),
  ].join(", ");
  return message ? isFalse(type, "ContainersNotInitialized", message) : isTrue(type);
}

function hasStarted(status: ContainerStatus | undefined): boolean {
  return status?.state?.running !== undefined || status?.state?.terminated !== undefined;
}
