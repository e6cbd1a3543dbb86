import { mayRestart } from "../../api/may-restart.ts";
import type { Container, Pod } from "../../api/objects.ts";
import { isSidecar } from "../../api/pod-resources.ts";
import type { ObservedContainer, ObservedSandbox } from "../observed-pod.ts";
import type { StartProblem } from "../status/status-facts.ts";
import { crashLoopMessage, restartDelayMs } from "./crash-loop.ts";
import type { ContainerRole, KillReason, PodAction, PodFacts, PodPlan } from "./pod-plan.ts";

/** A sandbox that dies as soon as it is made is made again at this pace, and not as fast as the node can. */
const sandboxPauseMs = 1_000;

/** A plan in the making. */
interface Draft {
  readonly actions: PodAction[];
  readonly crashLoops: Map<string, StartProblem>;
  decideAgainAt: number | undefined;
}

/**
 * What a pod needs next:
 *
 *     no usable sandbox ── kill what is left, create one
 *     usable ── init containers in order, each sidecar started before the next ── main containers, all at once
 *     every main container ended and none is to be restarted ── done
 */
export function decidePodActions(facts: PodFacts): PodPlan {
  const draft: Draft = { actions: [], crashLoops: new Map(), decideAgainAt: undefined };
  const sandbox = usableSandbox(facts);
  const done = sandbox ? planContainers(facts, sandbox, draft) : planSandbox(facts, draft);
  return done ? { ...draft, done, actions: [] } : { ...draft, done };
}

/** The one sandbox that containers may run in: the newest, ready, with an address. */
function usableSandbox({ pod, observed }: PodFacts): ObservedSandbox | undefined {
  const [newest, ...older] = observed?.sandboxes ?? [];
  if (!newest?.ready || older.some(({ ready }) => ready)) return undefined;
  const hasNetwork = pod.spec?.hostNetwork === true || newest.ips.length > 0;
  return hasNetwork ? newest : undefined;
}

/** Plans a new sandbox. True when the pod needs none, because all that it had to do is done. */
function planSandbox(facts: PodFacts, draft: Draft): boolean {
  const { pod, observed } = facts;
  const sandboxes = observed?.sandboxes ?? [];
  const containers = observed?.containers ?? [];
  const [newest] = sandboxes;
  // A pod that must not be restarted has had its one chance once a container of it existed.
  const spent = pod.spec?.restartPolicy === "Never" && containers.length > 0;
  if (spent || mainContainers(pod).every((container) => isFinished(facts, container))) return true;

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

/** Plans containers in a sandbox that stands. True when the pod has nothing left to do. */
function planContainers(facts: PodFacts, sandbox: ObservedSandbox, draft: Draft): boolean {
  const containers = mainContainers(facts.pod);
  const init = planInitContainers(facts, sandbox, draft);
  if (init === "failed") return true;
  if (init === "waiting") return false;

  for (const container of containers) planMainContainer(facts, { container, sandbox, draft });
  return containers.every((container) => isFinished(facts, container));
}

/**
 * Init containers one after the other; a sidecar counts once it has started. As upstream, the last one that was made
 * tells how far the pod is: those before it have done their work, whatever is left of them, and sidecars among them are
 * kept running without anybody waiting for them.
 */
function planInitContainers(
  facts: PodFacts,
  sandbox: ObservedSandbox,
  draft: Draft,
): "done" | "waiting" | "failed" {
  const containers = facts.pod.spec?.initContainers ?? [];
  // A new sandbox runs them anew: what they did for the last one may be gone with it.
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

/** The last one that was made. */
function planInitContainer(facts: PodFacts, candidate: Candidate): "done" | "waiting" | "failed" {
  const { container, sandbox } = candidate;
  if (isSidecar(container)) return keepSidecar(facts, candidate);
  const observed = latest(facts, container.name, sandbox);
  if (observed?.state.kind === "running") return "waiting";
  if (observed?.state.kind === "exited") {
    const { exitCode } = observed.state;
    if (exitCode === 0) return "done";
    if (!mayRestart(container, facts.pod.spec ?? { containers: [] }, exitCode)) return "failed";
  }
  startAnew(facts, { ...candidate, role: "init", observed });
  return "waiting";
}

/** Done once it has started. */
function keepSidecar(facts: PodFacts, candidate: Candidate): "done" | "waiting" {
  const observed = latest(facts, candidate.container.name, candidate.sandbox);
  if (observed?.state.kind !== "running") {
    startAnew(facts, { ...candidate, role: "sidecar", observed });
    return "waiting";
  }
  const why = reasonToKill(facts, candidate.container, observed);
  if (why) candidate.draft.actions.push({ kind: "killContainer", observed, why });
  else if (!resumeHook(facts, { ...candidate, observed }) && facts.verdict(observed.id).started)
    return "done";
  return "waiting";
}

interface Candidate {
  readonly container: Container;
  readonly sandbox: ObservedSandbox;
  readonly draft: Draft;
}

function planMainContainer(facts: PodFacts, candidate: Candidate): void {
  const { container, draft } = candidate;
  const observed = latest(facts, container.name);
  if (observed?.state.kind === "running") {
    const why = reasonToKill(facts, container, observed);
    if (why) draft.actions.push({ kind: "killContainer", observed, why });
    else resumeHook(facts, { ...candidate, observed });
  } else if (!isFinished(facts, container)) {
    startAnew(facts, { ...candidate, role: "main", observed });
  }
}

/** False where nothing is left to be done. */
function resumeHook(facts: PodFacts, candidate: Candidate & { observed: ObservedContainer }): boolean {
  const { container, sandbox, draft, observed } = candidate;
  if (!container.lifecycle?.postStart || !facts.hookPending(observed.id)) return false;
  draft.actions.push({ kind: "resumePostStart", container, sandbox, observed });
  return true;
}

function reasonToKill(
  facts: PodFacts,
  container: Container,
  observed: ObservedContainer,
): KillReason | undefined {
  if (observed.specHash !== facts.specHash(container)) {
    return { message: `Container ${container.name} definition changed, will be restarted` };
  }
  return facts.verdict(observed.id).kill;
}

interface StartCandidate extends Candidate {
  readonly role: ContainerRole;
  readonly observed: ObservedContainer | undefined;
}

/** Starts a container that does not run. */
function startAnew(facts: PodFacts, candidate: StartCandidate): void {
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

function start(facts: PodFacts, { container, role, sandbox, draft, observed }: StartCandidate): void {
  // One that was made and never started is made again under its own number: it has not run, so nothing restarts.
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

function restart(facts: PodFacts, candidate: StartCandidate & { observed: ObservedContainer }): void {
  const { container, role, sandbox, draft, observed } = candidate;
  if (observed.state.kind !== "exited") return;
  const delay = restartDelayMs(observed, facts.maxRestartDelayMs);
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

/** Restart counts only grow, also when the runtime has forgotten the containers before. */
function nextAttempt({ pod, observed }: PodFacts, { name }: Container): number {
  const made = (observed?.containers ?? []).filter((container) => container.name === name);
  const written = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]
    .filter((status) => status.name === name && status.containerID)
    .map(({ restartCount }) => restartCount);
  return Math.max(-1, ...made.map(({ attempt }) => attempt), ...written) + 1;
}

/** Whether a main container has ended for good. */
function isFinished(facts: PodFacts, container: Container): boolean {
  const state = latest(facts, container.name)?.state;
  const { spec = { containers: [] } } = facts.pod;
  return state?.kind === "exited" && !mayRestart(container, spec, state.exitCode);
}

function latest(
  { observed }: PodFacts,
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
