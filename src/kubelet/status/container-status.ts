import { mayRestart } from "../../api/may-restart.ts";
import type { Container, ContainerStatus } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import type { ObservedContainer } from "../observed-pod.ts";
import { presumedCompleted, type State, stateOf, vanished } from "./container-state.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";
import { volumeMountStatuses } from "./volume-mount-status.ts";

/** All termination messages of a pod together, in bytes. */
const maxTerminationMessages = 12 * 1_024;

type Role = "init" | "sidecar" | "container";

/** One container, and all that is known of it. */
interface Subject {
  readonly container: Container;
  readonly role: Role;
  /** The newest that the runtime has; undefined when it has none: not yet, or no longer. */
  readonly current: ObservedContainer | undefined;
  /** Those before it, newest first. */
  readonly older: readonly ObservedContainer[];
  /** Its status before. */
  readonly before: ContainerStatus | undefined;
  readonly facts: StatusFacts;
}

/** In the order of the pod's spec. */
export function initContainerStatuses(facts: StatusFacts): ContainerStatus[] {
  const previous = previousOf(facts).initContainerStatuses ?? [];
  return (facts.pod.spec?.initContainers ?? []).map((container) => {
    const role = isSidecar(container) ? "sidecar" : "init";
    return statusOf({ container, role, ...whatIsKnown(container, previous, facts) });
  });
}

/** By name, as upstream's kubelet writes them. */
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
  // It ran when last seen and is not there any more, neither as this container nor as one before it.
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

/** What the end of the container before this one was, as far as the status knows. */
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

/** A container that could not be started waits for the reason why; how it ended before is its last state. */
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
  const { started, ready } = facts.verdict(current.id);
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
