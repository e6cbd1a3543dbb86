import type { Container, ContainerStatus } from "../../api/meta/objects.ts";
import { mayRestart } from "../../api/pod/pod-containers.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import type { ObservedContainer } from "../model/observed-pod.ts";
import { presumedCompleted, type State, stateOf, vanished } from "./container-state.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

/** Limit for all termination messages of a pod together, in bytes. */
const maxTerminationMessages = 12 * 1_024;

type Role = "init" | "sidecar" | "container";

/** One container with everything known about it. */
interface Subject {
  readonly container: Container;
  readonly role: Role;
  /** Newest container in the runtime; undefined if there is none, not yet or not any more. */
  readonly current: ObservedContainer | undefined;
  /** Earlier containers, newest first. */
  readonly older: readonly ObservedContainer[];
  /** Previous status. */
  readonly before: ContainerStatus | undefined;
  readonly facts: StatusFacts;
}

/** Statuses of init containers in the order of the pod's spec. */
export function initContainerStatuses(facts: StatusFacts): ContainerStatus[] {
  const previous = previousOf(facts).initContainerStatuses ?? [];
  return (facts.pod.spec?.initContainers ?? []).map((container) => {
    const role = isSidecar(container) ? "sidecar" : "init";
    return statusOf({ container, role, ...whatIsKnown(container, previous, facts) });
  });
}

/** Statuses of main containers, sorted by name as upstream. */
export function containerStatuses(facts: StatusFacts): ContainerStatus[] {
  const previous = previousOf(facts).containerStatuses ?? [];
  return (facts.pod.spec?.containers ?? [])
    .map((container) =>
      statusOf({ container, role: "container", ...whatIsKnown(container, previous, facts) }),
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function whatIsKnown({ name }: Container, previous: readonly ContainerStatus[], facts: StatusFacts) {
  const seen = facts.observed?.containers.filter((observed) => observed.name === name) ?? [];
  const before = previous.find((status) => status.name === name);
  return { current: seen[0], older: seen.slice(1), before, facts };
}

function statusOf(subject: Subject): ContainerStatus {
  const { current } = subject;
  const status = current ? fromRuntime(current, subject) : fromMemory(subject);
  return withReadiness(withProblem(status, subject), subject);
}

function fromRuntime(current: ObservedContainer, subject: Subject): ContainerStatus {
  const { container, older, before, facts } = subject;
  const containerID = fullId(current, facts);
  const describe = (observed: ObservedContainer) =>
    stateOf(observed, {
      containerId: fullId(observed, facts),
      before,
      waiting: waitingState(facts),
      maxMessageBytes: Math.floor(maxTerminationMessages / countContainers(facts)),
    });
  const ended = older.find(({ state }) => state.kind === "exited");
  const ran = before?.state?.running !== undefined;
  // The container that was running has disappeared: it is neither the current one nor an exited one.
  const lost = ran && before.containerID !== containerID && !ended;
  const lostNow = lost || (ran && current.state.kind === "unknown");
  return {
    ...describeSpec(subject),
    containerID,
    image: current.image,
    imageID: current.imageRef,
    state: describe(current),
    lastState: ended ? describe(ended) : lost ? vanished : lastStateOf(before, containerID),
    restartCount: Math.max(current.attempt, (before?.restartCount ?? 0) + (lostNow ? 1 : 0)),
    resources: container.resources ?? {},
    ...(container.resources?.requests && { allocatedResources: container.resources.requests }),
    ...(current.user && {
      user: { linux: { ...current.user, supplementalGroups: [...current.user.supplementalGroups] } },
    }),
  };
}

/** Last state according to the previous status. */
function lastStateOf(before: ContainerStatus | undefined, containerId: string): State {
  if (before?.state?.terminated && before.containerID !== containerId) {
    return { terminated: before.state.terminated };
  }
  return before?.lastState ?? {};
}

function fromMemory(subject: Subject): ContainerStatus {
  const { role, before, facts } = subject;
  if (before?.state?.terminated) return before;
  const ran = before?.state?.running !== undefined;
  const beingDeleted = facts.pod.metadata.deletionTimestamp !== undefined;
  return {
    ...describeSpec(subject),
    state: role === "init" && hasRegularContainer(facts) ? presumedCompleted : waitingState(facts),
    lastState: ran ? vanished : (before?.lastState ?? {}),
    restartCount: (before?.restartCount ?? 0) + (ran && !beingDeleted ? 1 : 0),
  };
}

function describeSpec({ container, facts }: Subject) {
  const volumeMounts = volumeMountStatuses(container, facts.recursiveReadOnlyMounts ?? false);
  return {
    name: container.name,
    image: container.image ?? "",
    imageID: "",
    ready: false,
    ...(volumeMounts.length > 0 && { volumeMounts }),
  };
}

/**
 * A container that failed to start is waiting with the reason of the problem; its previous exit becomes its last state.
 */
function withProblem(status: ContainerStatus, subject: Subject): ContainerStatus {
  const problem = subject.facts.problems.get(status.name);
  if (!problem || !isToBeStarted(status, subject)) return status;
  const { reason, message } = problem;
  return {
    ...status,
    state: { waiting: { reason, ...(message && { message }) } },
    lastState: status.state?.terminated ? status.state : status.lastState,
  };
}

function isToBeStarted(status: ContainerStatus, { container, role, current, facts }: Subject): boolean {
  const { metadata, spec } = facts.pod;
  if (metadata.deletionTimestamp !== undefined || current?.state.kind === "running") return false;
  const exitCode = status.state?.terminated?.exitCode;
  if (exitCode === undefined || current?.state.kind === "unknown") return true;
  if (role === "init" && exitCode === 0) return false;
  return mayRestart(container, spec ?? { containers: [] }, exitCode);
}

function withReadiness(status: ContainerStatus, { role, current, facts }: Subject): ContainerStatus {
  const running = current !== undefined && status.state?.running !== undefined;
  if (role === "init") {
    return { ...status, started: running, ready: status.state?.terminated?.exitCode === 0 };
  }
  if (!running) return { ...status, started: false, ready: false };
  const { started, ready } = facts.probeResult(current.id);
  return { ...status, started, ready: started && ready };
}

function waitingState({ pod }: StatusFacts): State {
  const reason = pod.spec?.initContainers?.length ? "PodInitializing" : "ContainerCreating";
  return { waiting: { reason } };
}

function hasRegularContainer({ pod, observed }: StatusFacts): boolean {
  const names = new Set(pod.spec?.containers.map(({ name }) => name));
  return observed?.containers.some(({ name }) => names.has(name)) ?? false;
}

function countContainers({ pod: { spec } }: StatusFacts): number {
  return Math.max(1, (spec?.containers.length ?? 0) + (spec?.initContainers?.length ?? 0));
}

function fullId(container: ObservedContainer, { runtimeName }: StatusFacts): string {
  return `${runtimeName}://${container.id}`;
}

type VolumeMountStatus = NonNullable<ContainerStatus["volumeMounts"]>[number];

/** Statuses of the container's volume mounts. Only read-only mounts report whether they are recursively read-only. */
function volumeMountStatuses(container: Container, recursive: boolean): VolumeMountStatus[] {
  return (container.volumeMounts ?? []).map(({ name, mountPath, readOnly, recursiveReadOnly }) => {
    if (!readOnly) return { name, mountPath };
    const enabled = recursiveReadOnly === "Enabled" || (recursiveReadOnly === "IfPossible" && recursive);
    return { name, mountPath, readOnly, recursiveReadOnly: enabled ? "Enabled" : "Disabled" };
  });
}
