// Clauses: 3815-1, 3815-2, 3815-3, 3815-5, 3815-7, 3815-9
import type { ContainerStatus, PodCondition, PodStatus } from "../api/meta/objects.ts";
import { setsFailingToStart } from "./causes.ts";

/** Type of the condition of KEP-3815. */
export const failingToStartType = "FailingToStart";

/** Condition without times and observed generation. */
type StartResult = Pick<PodCondition, "type" | "status" | "reason" | "message">;

export interface StartFacts {
  /** Container statuses, init containers first. */
  readonly statuses: readonly ContainerStatus[];
  /** Whether the pod has terminated or is terminating, so that no container will be started any more. */
  readonly ended: boolean;
  /** Previous status of the pod. */
  readonly previous: PodStatus;
}

/**
 * Condition FailingToStart (KEP-3815): a container waits for something that retries do not resolve. With one such
 * container, the condition has its reason and message; with several, the reason of the first and a message that names
 * all. Termination does not change the condition.
 */
export function failingToStart({ statuses, ended, previous }: StartFacts): StartResult {
  if (ended) return failedToStart(statuses, previous);
  const stuck = stuckContainers(statuses);
  const [first, ...others] = stuck;
  if (!first) return isFalse;
  const message = others.length > 0 ? stuck.map(describe).join("; ") : first.message;
  return { ...isTrue(first.reason), ...(message && { message }) };
}

/** Keeps the last result before the termination, unless all affected containers have been created since. */
function failedToStart(statuses: readonly ContainerStatus[], previous: PodStatus): StartResult {
  const before = previous.conditions?.find((condition) => condition.type === failingToStartType);
  if (before?.status !== "True") return isFalse;
  const stuck = stuckContainers(statusesIn(previous));
  const idOf = (name: string) => statuses.find((status) => status.name === name)?.containerID;
  if (stuck.length > 0 && stuck.every(({ name, status }) => idOf(name) !== status.containerID))
    return isFalse;
  return { ...isTrue(before.reason), ...(before.message && { message: before.message }) };
}

const isFalse: StartResult = { type: failingToStartType, status: "False" };

function isTrue(reason: string | undefined): StartResult {
  return { type: failingToStartType, status: "True", ...(reason && { reason }) };
}

function describe({ name, reason, message }: StuckContainer): string {
  return `container ${name}: ${reason}${message && `: ${message}`}`;
}

/** Container that waits for something that retries do not resolve (KEP-3815). */
interface StuckContainer {
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  readonly status: ContainerStatus;
}

/** Stuck containers in the order of the statuses. */
export function stuckContainers(statuses: readonly ContainerStatus[]): StuckContainer[] {
  return statuses.flatMap((status) => {
    const { reason, message = "" } = status.state?.waiting ?? {};
    if (reason === undefined || !setsFailingToStart(reason)) return [];
    return [{ name: status.name, reason, message, status }];
  });
}

/** All container statuses, init containers first. */
export function statusesIn({ initContainerStatuses, containerStatuses }: PodStatus): ContainerStatus[] {
  return [...(initContainerStatuses ?? []), ...(containerStatuses ?? [])];
}
