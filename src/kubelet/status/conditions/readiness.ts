// Clauses: 3085-10
import type { ContainerStatus, PodCondition, PodSpec } from "../../../api/meta/objects.ts";
import { isSidecar } from "../../../api/pod/pod-resources.ts";

/** Condition without transition time and observed generation, which podConditions adds. */
export type ConditionResult = Pick<PodCondition, "type" | "status" | "reason" | "message">;

export function isTrue(type: string, reason?: string): ConditionResult {
  return { type, status: "True", ...(reason && { reason }) };
}

export function isFalse(type: string, reason?: string, message?: string): ConditionResult {
  return { type, status: "False", ...(reason && { reason }), ...(message && { message }) };
}

/** Condition Ready: the containers are ready, and so are all conditions in the pod's readiness gates. */
export function ready(
  spec: PodSpec,
  containersReady: ConditionResult,
  /** Conditions that are not written by the kubelet. */
  conditions: readonly PodCondition[],
): ConditionResult {
  const type = "Ready";
  if (containersReady.status !== "True") return { ...containersReady, type };
  const message = (spec.readinessGates ?? [])
    .flatMap(({ conditionType }) => {
      const name = JSON.stringify(conditionType);
      const condition = conditions.find((each) => each.type === conditionType);
      if (!condition) return [`corresponding condition of pod readiness gate ${name} does not exist.`];
      if (condition.status === "True") return [];
      return [`the status of pod readiness gate ${name} is not "True", but ${condition.status}`];
    })
    .join(", ");
  return message ? isFalse(type, "ReadinessGatesNotReady", message) : isTrue(type);
}

/** Condition ContainersReady: all main containers and sidecars are ready. */
export function containersReady(
  spec: PodSpec,
  statuses: readonly ContainerStatus[],
  phase: string,
): ConditionResult {
  const type = "ContainersReady";
  // A failed pod is not ready even while some of its containers are still terminating.
  if (phase === "Failed") return isFalse(type, "PodFailed");
  if (statuses.length === 0) return isFalse(type, "UnknownContainerStatuses");
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const names = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers].map(
    ({ name }) => name,
  );
  const unknown = names.filter((name) => !byName.has(name));
  const unready = names.filter((name) => byName.get(name)?.ready === false);
  if (phase === "Succeeded" && unknown.length === 0) return isFalse(type, "PodCompleted");
  const message = [...listContainers("unknown", unknown), ...listContainers("unready", unready)].join(", ");
  return message ? isFalse(type, "ContainersNotReady", message) : isTrue(type);
}

/** Condition Initialized: all init containers have completed and all sidecars have started. */
export function initialized(
  spec: PodSpec,
  statuses: readonly ContainerStatus[],
  phase: string,
): ConditionResult {
  const type = "Initialized";
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const initContainers = spec.initContainers ?? [];
  if (initContainers.length > 0 && statuses.length === 0) return isFalse(type, "UnknownContainerStatuses");
  const unknown = initContainers.filter(({ name }) => !byName.has(name));
  const incomplete = initContainers.filter((container) => {
    const status = byName.get(container.name);
    return status && !(isSidecar(container) ? status.started : status.ready);
  });
  if (phase === "Succeeded" && unknown.length === 0) return isTrue(type, "PodCompleted");
  // The restart of a sidecar does not make an initialized pod uninitialized.
  if (spec.containers.some(({ name }) => hasStarted(byName.get(name)))) return isTrue(type);
  const message = [
    ...listContainers(
      "unknown",
      unknown.map(({ name }) => name),
    ),
    ...listContainers(
      "incomplete",
      incomplete.map(({ name }) => name),
    ),
  ].join(", ");
  return message ? isFalse(type, "ContainersNotInitialized", message) : isTrue(type);
}

function hasStarted(status: ContainerStatus | undefined): boolean {
  return status?.state?.running !== undefined || status?.state?.terminated !== undefined;
}

/** Formats `containers with unready status: [a b]`; empty without names. */
function listContainers(what: string, names: readonly string[]): string[] {
  return names.length > 0 ? [`containers with ${what} status: [${names.join(" ")}]`] : [];
}
