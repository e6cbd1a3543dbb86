import { mayRestart } from "../../api/may-restart.ts";
import type { Container, ContainerStatus } from "../../api/objects.ts";
import type { ObservedContainer } from "../observed-pod.ts";
import { presumedCompleted, type State, stateOf, vanished } from "./container-state.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";
import { volumeMountStatuses } from "./volume-mount-status.ts";

/** All termination messages of a pod together, in bytes. */
const maxTerminationMessages = 12 * 1_024;

type Role = "init" | "sidecar" | "container";

/** In the order of the pod's spec. */
export function initContainerStatuses(facts: StatusFacts): ContainerStatus[] {
  const before = previousOf(facts).initContainerStatuses ?? [];
  return (facts.pod.spec?.initContainers ?? []).map((container) =>
    statusOf(container, isSidecar(container) ? "sidecar" : "init", before, facts),
  );
}

/** By name, as upstream's kubelet writes them. */
export function containerStatuses(facts: StatusFacts): ContainerStatus[] {
  const before = previousOf(facts).containerStatuses ?? [];
  return (facts.pod.spec?.containers ?? [])
    .map((container) => statusOf(container, "container", before, facts))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

function statusOf(
  container: Container,
  role: Role,
  previous: readonly ContainerStatus[],
  facts: StatusFacts,
): ContainerStatus {
  const before = previous.find(({ name }) => name === container.name);
  const seen = (facts.observed?.containers ?? []).filter(({ name }) => name === container.name);
  const [current, ...older] = seen;
  const status = current
    ? fromRuntime(container, current, { older, before, facts })
    : fromMemory(container, role, before, facts);
  return withReadiness(withProblem(status, container, role, current, facts), role, current, facts);
}

interface History {
  readonly older: readonly ObservedContainer[];
  readonly before: ContainerStatus | undefined;
  readonly facts: StatusFacts;
}

function fromRuntime(container: Container, current: ObservedContainer, history: History): ContainerStatus {
  const { older, before, facts } = history;
  const { spec } = facts.pod;
  const count = (spec?.containers.length ?? 0) + (spec?.initContainers?.length ?? 0);
  const describe = (observed: ObservedContainer) =>
    stateOf(observed, {
      containerId: fullId(observed, facts),
      before,
      waiting: waitingState(facts),
      maxMessageBytes: Math.floor(maxTerminationMessages / Math.max(1, count)),
    });
  const state = describe(current);
  const ended = older.find((observed) => observed.state.kind === "exited");
  // It ran when last seen and is not there any more, neither as this container nor as one before it.
  const lost =
    before?.state?.running !== undefined && before.containerID !== fullId(current, facts) && !ended;
  const lostNow = lost || (before?.state?.running !== undefined && current.state.kind === "unknown");
  return {
    ...describeSpec(container, facts),
    containerID: fullId(current, facts),
    image: current.image,
    imageID: current.imageRef,
    state,
    lastState: ended ? describe(ended) : lost ? vanished : lastStateOf(before, fullId(current, facts)),
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

/** The runtime has nothing of it: not yet, or no longer. */
function fromMemory(
  container: Container,
  role: Role,
  before: ContainerStatus | undefined,
  facts: StatusFacts,
): ContainerStatus {
  if (before?.state?.terminated) return before;
  const wasRunning = before?.state?.running !== undefined;
  const beingDeleted = facts.pod.metadata.deletionTimestamp !== undefined;
  return {
    ...describeSpec(container, facts),
    state: role === "init" && hasRegularContainer(facts) ? presumedCompleted : waitingState(facts),
    lastState: wasRunning ? vanished : (before?.lastState ?? {}),
    restartCount: (before?.restartCount ?? 0) + (wasRunning && !beingDeleted ? 1 : 0),
  };
}

function describeSpec(container: Container, facts: StatusFacts) {
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
function withProblem(
  status: ContainerStatus,
  container: Container,
  role: Role,
  current: ObservedContainer | undefined,
  facts: StatusFacts,
): ContainerStatus {
  const problem = facts.problems.get(container.name);
  if (!problem || !isToBeStarted(status, container, role, current, facts)) return status;
  const { reason, message } = problem;
  return {
    ...status,
    state: { waiting: { reason, ...(message && { message }) } },
    lastState: status.state?.terminated ? status.state : status.lastState,
  };
}

function isToBeStarted(
  status: ContainerStatus,
  container: Container,
  role: Role,
  current: ObservedContainer | undefined,
  { pod }: StatusFacts,
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined || current?.state.kind === "running") return false;
  const exitCode = status.state?.terminated?.exitCode;
  if (exitCode === undefined || current?.state.kind === "unknown") return true;
  if (role === "init" && exitCode === 0) return false;
  return mayRestart(container, pod.spec ?? { containers: [] }, exitCode);
}

function withReadiness(
  status: ContainerStatus,
  role: Role,
  current: ObservedContainer | undefined,
  facts: StatusFacts,
): ContainerStatus {
  const running = current && status.state?.running !== undefined;
  if (role === "init") {
    return { ...status, started: running ?? false, ready: status.state?.terminated?.exitCode === 0 };
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

function fullId(container: ObservedContainer, { runtimeName }: StatusFacts): string {
  return `${runtimeName}://${container.id}`;
}
