import type { Container, Pod } from "../api/meta/objects.ts";
import { mayRestart } from "../api/pod/pod-containers.ts";
import { createObject, inCommands } from "./commands.ts";

/** Where a fix applies. `details` are the groups of the expression that matched the message. */
export interface FixContext {
  readonly pod: Pod;
  readonly container: Container | undefined;
  readonly details: readonly string[];
}

export function createMissingObject({ pod, container, details: [kind = "", name = ""] }: FixContext): string {
  return `create it: ${createObject(pod, { kind, name, key: keyOf(container, name) })}`;
}

/** Key of the ConfigMap or Secret that the container's environment refers to. */
function keyOf(container: Container | undefined, holder: string): string {
  const references = (container?.env ?? []).map(
    ({ valueFrom }) => valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef,
  );
  return references.find((reference) => reference?.name === holder)?.key ?? "KEY";
}

/** A container that is not restarted has no previous run. */
export function readLog({ pod, container }: FixContext): string {
  const log = `kubectl logs ${inCommands(pod)} -c ${container?.name}`;
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const exit = statuses.find(({ name }) => name === container?.name)?.state?.terminated;
  const isFinal = exit && container && !mayRestart(container, pod.spec ?? { containers: [] }, exit.exitCode);
  return isFinal ? `read its log: ${log}` : `read the log of its last run: ${log} --previous`;
}

export function outOfMemory({ container }: FixContext): string {
  const limit = container?.resources?.limits?.memory;
  return `The container used more memory than ${limit ? `its limit of ${limit}` : "the node has"}`;
}

export function raiseMemoryLimit({ container }: FixContext): string {
  const limit = container?.resources?.limits?.memory;
  return limit
    ? `raise resources.limits.memory of container ${container.name} above ${limit}`
    : `set resources.requests.memory of container ${container?.name}, so that a node with enough memory is chosen`;
}

export function describePod({ pod }: Pick<FixContext, "pod">): string {
  return `see its events: kubectl describe pod ${inCommands(pod)}`;
}
