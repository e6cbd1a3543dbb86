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
  const { pod, observed } = facts;
  const begun = observed?.containers.some(
    ({ name, sandboxId }) =>
      sandboxId === sandbox.id && mainContainers(pod).some((main) => main.name === name),
  );
  const init = begun ? keepSidecars(facts, sandbox, draft) : planInitContainers(facts, sandbox, draft);
  if (init === "failed") return true;
  if (init === "waiting") return false;

  for (const container of mainContainers(pod)) planMainContainer(facts, { container, sandbox, draft });
  return mainContainers(pod).every((container) => isFinished(facts, container));
}

/** Init containers one after the other; a sidecar counts once it has started. */
function planInitContainers(
  facts: PodFacts,
  sandbox: ObservedSandbox,
  draft: Draft,
): "done" | "waiting" | "failed" {
  for (const container of facts.pod.spec?.initContainers ?? []) {
    const role = isSidecar(container) ? "sidecar" : "init";
    // A new sandbox runs them anew: what they did for the last one may be gone with it.
    const observed = latest(facts, container.name, sandbox);
    switch (observed?.state.kind) {
      case "running": {
        const { started, kill } = facts.verdict(observed.id);
        if (kill) draft.actions.push({ kind: "killContainer", observed, why: kill });
        else if (role === "sidecar" && resumeHook(facts, { container, sandbox, draft, observed }))
          return "waiting";
        if (role === "init" || kill || !started) return "waiting";
        break;
      }
      case "exited":
        if (role === "init" && observed.state.exitCode === 0) break;
        if (role === "init" && facts.pod.spec?.restartPolicy === "Never") return "failed";
        restart(facts, { container, role, sandbox, draft, observed });
        return "waiting";
      default:
        start(facts, { container, role, sandbox, draft, observed });
        return "waiting";
    }
  }
  return "done";
}

/** Once main containers exist, sidecars are all that is left of the init containers: they are kept running. */
function keepSidecars(facts: PodFacts, sandbox: ObservedSandbox, draft: Draft): "done" {
  for (const container of facts.pod.spec?.initContainers ?? []) {
    if (!isSidecar(container)) continue;
    const observed = latest(facts, container.name, sandbox);
    if (observed?.state.kind === "exited") {
      restart(facts, { container, role: "sidecar", sandbox, draft, observed });
    } else if (observed?.state.kind !== "running") {
      start(facts, { container, role: "sidecar", sandbox, draft, observed });
    } else {
      const { kill } = facts.verdict(observed.id);
      if (kill) draft.actions.push({ kind: "killContainer", observed, why: kill });
      else resumeHook(facts, { container, sandbox, draft, observed });
    }
  }
  return "done";
}

interface Candidate {
  readonly container: Container;
  readonly sandbox: ObservedSandbox;
  readonly draft: Draft;
}

function planMainContainer(facts: PodFacts, candidate: Candidate): void {
  const { container, draft } = candidate;
  const observed = latest(facts, container.name);
  switch (observed?.state.kind) {
    case "running": {
      const why = reasonToKill(facts, container, observed);
      if (why) draft.actions.push({ kind: "killContainer", observed, why });
      else resumeHook(facts, { ...candidate, observed });
      return;
    }
    case "exited":
      if (!isFinished(facts, container)) restart(facts, { ...candidate, role: "main", observed });
      return;
    case "unknown":
      draft.actions.push({
        kind: "killContainer",
        observed,
        why: { message: `Container ${container.name} is in unknown state, try killing it before restart` },
      });
      return;
    default:
      start(facts, { ...candidate, role: "main", observed });
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

function mainContainers(pod: Pod): readonly Container[] {
  return pod.spec?.containers ?? [];
}
