// Clauses: 3085-5
import type { Container, Pod } from "../../api/meta/objects.ts";
import { mayRestart } from "../../api/pod/pod-containers.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { hashContainer } from "../model/cri-labels.ts";
import type { ObservedContainer, ObservedSandbox } from "../model/observed-pod.ts";
import type { StartProblem } from "../status/status-facts.ts";
import {
  type ContainerRole,
  crashLoopMessage,
  type KillReason,
  type PodAction,
  type PodPlan,
  type PodPlanFacts,
  restartDelayMs,
} from "./pod-plan.ts";

/** Minimum time between two sandboxes of a pod, for sandboxes that exit immediately. */
const sandboxPauseMs = 1_000;

/** Plan under construction. */
interface Draft {
  readonly actions: PodAction[];
  readonly crashLoops: Map<string, StartProblem>;
  decideAgainAt: number | undefined;
}

/**
 * Decides the next actions for a pod:
 *
 *     no usable sandbox ── kill running containers, create a sandbox
 *     usable sandbox ── init containers in order, each sidecar started before the next ── main containers in parallel
 *     every main container exited and none will be restarted ── done
 */
export function decidePodActions(facts: PodPlanFacts): PodPlan {
  const draft: Draft = { actions: [], crashLoops: new Map(), decideAgainAt: undefined };
  const sandbox = usableSandbox(facts);
  const done = sandbox ? planContainers(facts, sandbox, draft) : planSandbox(facts, draft);
  return done ? { ...draft, done, actions: [] } : { ...draft, done };
}

/** Sandbox that containers may run in: the newest one, if it is ready, has an IP address and is the only ready one. */
function usableSandbox({ pod, observed }: PodPlanFacts): ObservedSandbox | undefined {
  const [newest, ...older] = observed?.sandboxes ?? [];
  if (!newest?.ready || older.some(({ ready }) => ready)) return undefined;
  const hasNetwork = pod.spec?.hostNetwork === true || newest.ips.length > 0;
  return hasNetwork ? newest : undefined;
}

/** Plans a new sandbox. Returns true when the pod has completed and needs none. */
function planSandbox(facts: PodPlanFacts, draft: Draft): boolean {
  const { pod, observed } = facts;
  const sandboxes = observed?.sandboxes ?? [];
  const containers = observed?.containers ?? [];
  const [newest] = sandboxes;
  // With restartPolicy Never, the pod gets no second sandbox once one of its containers was created.
  const usedUp = pod.spec?.restartPolicy === "Never" && containers.length > 0;
  if (usedUp || mainContainers(pod).every((container) => isFinished(facts, container))) return true;

  if (newest && newest.createdAtMs + sandboxPauseMs > facts.now) {
    draft.decideAgainAt = newest.createdAtMs + sandboxPauseMs;
    return false;
  }
  for (const container of containers) {
    if (container.state.kind !== "running") continue;
    draft.actions.push({
      kind: "killContainer",
      observed: container,
      why: { message: "Pod sandbox changed, it will be killed and re-created." },
    });
  }
  for (const sandbox of sandboxes) {
    if (sandbox.ready) draft.actions.push({ kind: "stopSandbox", sandbox });
  }
  draft.actions.push({ kind: "createSandbox", attempt: newest ? newest.attempt + 1 : 0 });
  return false;
}

/** Plans containers in a usable sandbox. Returns true when the pod has completed. */
function planContainers(facts: PodPlanFacts, sandbox: ObservedSandbox, draft: Draft): boolean {
  const containers = mainContainers(facts.pod);
  const init = planInitContainers(facts, sandbox, draft);
  if (init === "failed") return true;
  if (init === "waiting") return false;

  for (const container of containers) planMainContainer(facts, { container, sandbox, draft });
  return containers.every((container) => isFinished(facts, container));
}

/**
 * Plans init containers one after the other; a sidecar is done once it has started. As upstream, the last init container
 * that was created marks the progress: those before it count as completed even if the runtime no longer has them, and
 * sidecars among them are restarted without delaying the next container.
 */
function planInitContainers(
  facts: PodPlanFacts,
  sandbox: ObservedSandbox,
  draft: Draft,
): "done" | "waiting" | "failed" {
  const containers = facts.pod.spec?.initContainers ?? [];
  // A new sandbox runs all init containers again, because their effects may be lost with the previous sandbox.
  const isMade = ({ name }: Container) => latest(facts, name, sandbox) !== undefined;
  const current = mainContainers(facts.pod).some(isMade)
    ? containers.length
    : containers.findLastIndex(isMade);
  for (const container of containers.slice(0, Math.max(current, 0))) {
    if (isSidecar(container)) keepSidecar(facts, { container, sandbox, draft });
  }
  const container = containers[current];
  const outcome = container ? planInitContainer(facts, { container, sandbox, draft }) : "done";
  const next = containers[current + 1];
  if (outcome !== "done" || !next) return outcome;
  start(facts, { container: next, role: roleOf(next), sandbox, draft, observed: undefined });
  return "waiting";
}

/** Plans the init container that was created last. */
function planInitContainer(facts: PodPlanFacts, candidate: Candidate): "done" | "waiting" | "failed" {
  const { container, sandbox } = candidate;
  if (isSidecar(container)) return keepSidecar(facts, candidate);
  const observed = latest(facts, container.name, sandbox);
  if (observed?.state.kind === "running") return "waiting";
  if (observed?.state.kind === "exited") {
    const { exitCode } = observed.state;
    if (exitCode === 0) return "done";
    if (!mayRestart(container, facts.pod.spec ?? { containers: [] }, exitCode)) return "failed";
  }
  startAgain(facts, { ...candidate, role: "init", observed });
  return "waiting";
}

/** Keeps a sidecar running. Returns "done" once it has started. */
function keepSidecar(facts: PodPlanFacts, candidate: Candidate): "done" | "waiting" {
  const observed = latest(facts, candidate.container.name, candidate.sandbox);
  if (observed?.state.kind !== "running") {
    startAgain(facts, { ...candidate, role: "sidecar", observed });
    return "waiting";
  }
  const why = reasonToKill(facts, candidate.container, observed);
  if (why) candidate.draft.actions.push({ kind: "killContainer", observed, why });
  else if (!resumeHook(facts, { ...candidate, observed }) && facts.probeResult(observed.id).started)
    return "done";
  return "waiting";
}

interface Candidate {
  readonly container: Container;
  readonly sandbox: ObservedSandbox;
  readonly draft: Draft;
}

function planMainContainer(facts: PodPlanFacts, candidate: Candidate): void {
  const { container, draft } = candidate;
  const observed = latest(facts, container.name);
  if (observed?.state.kind === "running") {
    const why = reasonToKill(facts, container, observed);
    if (why) draft.actions.push({ kind: "killContainer", observed, why });
    else resumeHook(facts, { ...candidate, observed });
  } else if (!isFinished(facts, container)) {
    startAgain(facts, { ...candidate, role: "main", observed });
  }
}

/** Returns false when no hook is pending. */
function resumeHook(facts: PodPlanFacts, candidate: Candidate & { observed: ObservedContainer }): boolean {
  const { container, sandbox, draft, observed } = candidate;
  if (!container.lifecycle?.postStart || !facts.hookPending(observed.id)) return false;
  draft.actions.push({ kind: "resumePostStart", container, sandbox, observed });
  return true;
}

function reasonToKill(
  facts: PodPlanFacts,
  container: Container,
  observed: ObservedContainer,
): KillReason | undefined {
  if (observed.specHash !== hashContainer(container)) {
    return { message: `Container ${container.name} definition changed, will be restarted` };
  }
  return facts.probeResult(observed.id).kill;
}

interface StartCandidate extends Candidate {
  readonly role: ContainerRole;
  readonly observed: ObservedContainer | undefined;
}

/** Starts a container that is not running. */
function startAgain(facts: PodPlanFacts, candidate: StartCandidate): void {
  const { container, draft, observed } = candidate;
  switch (observed?.state.kind) {
    case "exited":
      restart(facts, { ...candidate, observed });
      return;
    case "unknown":
      draft.actions.push({
        kind: "killContainer",
        observed,
        why: { message: `Container ${container.name} is in unknown state, try killing it before restart` },
      });
      return;
    default:
      start(facts, candidate);
  }
}

function start(facts: PodPlanFacts, { container, role, sandbox, draft, observed }: StartCandidate): void {
  // A container that was created but never started is replaced with the same attempt number: this is not a restart.
  const neverRan = observed?.state.kind === "created" && observed.sandboxId === sandbox.id;
  draft.actions.push({
    kind: "startContainer",
    container,
    role,
    sandbox,
    attempt: neverRan ? observed.attempt : nextAttempt(facts, container),
    nextRestartDelayMs: neverRan ? observed.restartDelayMs : 0,
    ...(neverRan && { replaces: observed }),
  });
}

function restart(facts: PodPlanFacts, candidate: StartCandidate & { observed: ObservedContainer }): void {
  const { container, role, sandbox, draft, observed } = candidate;
  if (observed.state.kind !== "exited") return;
  const sandboxLost = observed.sandboxId !== sandbox.id;
  const delay = restartDelayMs(observed, { sandboxLost, maxDelayMs: facts.maxRestartDelayMs });
  const startAt = observed.state.finishedAtMs + delay.nowMs;
  if (startAt > facts.now) {
    const message = crashLoopMessage(facts.pod, container.name, delay.nowMs);
    draft.crashLoops.set(container.name, { reason: "CrashLoopBackOff", message });
    draft.decideAgainAt = Math.min(draft.decideAgainAt ?? startAt, startAt);
    return;
  }
  draft.actions.push({
    kind: "startContainer",
    container,
    role,
    sandbox,
    attempt: nextAttempt(facts, container),
    nextRestartDelayMs: delay.nextMs,
  });
}

/** Attempt numbers only grow, even when the runtime has removed earlier containers. */
function nextAttempt({ pod, observed }: PodPlanFacts, { name }: Container): number {
  const made = (observed?.containers ?? []).filter((container) => container.name === name);
  const written = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
    .filter((status) => status.name === name && status.containerID)
    .map(({ restartCount }) => restartCount);
  return Math.max(-1, ...made.map(({ attempt }) => attempt), ...written) + 1;
}

/** Whether a main container has exited and will not be restarted. */
function isFinished(facts: PodPlanFacts, container: Container): boolean {
  const state = latest(facts, container.name)?.state;
  const { spec = { containers: [] } } = facts.pod;
  return state?.kind === "exited" && !mayRestart(container, spec, state.exitCode);
}

function latest(
  { observed }: PodPlanFacts,
  name: string,
  sandbox?: ObservedSandbox,
): ObservedContainer | undefined {
  return observed?.containers.find(
    (container) => container.name === name && (!sandbox || container.sandboxId === sandbox.id),
  );
}

function roleOf(container: Container): ContainerRole {
  return isSidecar(container) ? "sidecar" : "init";
}

function mainContainers(pod: Pod): readonly Container[] {
  return pod.spec?.containers ?? [];
}
