// Clauses: 3085-1, 3085-2, 3085-4, 3085-7, 3085-8, 3815-6, 3815-8, 3085-10
import type { Features } from "../../api/meta/feature-gates.ts";
import type { ContainerStatus, PodCondition, PodSpec } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import { failingToStart } from "../../explain/failing-to-start.ts";
import { previousOf, type StatusFacts } from "./status-facts.ts";

/** Conditions of other writers as they are in the API, followed by the kubelet's own. */
export function podConditions(
  facts: StatusFacts,
  statuses: readonly ContainerStatus[],
  phase: string,
): PodCondition[] {
  const { pod, features } = facts;
  const spec = pod.spec ?? { containers: [] };
  const known = (pod.status ?? previousOf(facts)).conditions ?? [];
  const others = known.filter(({ type }) => !isOwnedCondition(type, features));
  const containers = containersReady(spec, statuses, phase);
  const own: ConditionResult[] = [
    ...(features.PodReadyToStartContainersCondition ? [readyToStartContainers(facts)] : []),
    initialized(spec, statuses, phase),
    ready(spec, containers, others),
    containers,
    isTrue("PodScheduled"),
    ...(features.PodFailingToStartCondition
      ? [failingToStart({ statuses, ended: isTerminating(facts, phase), previous: previousOf(facts) })]
      : []),
  ];
  return [...others, ...own.map((result) => dated(result, facts))];
}

function isTerminating({ pod, termination }: StatusFacts, phase: string): boolean {
  return isFinalPhase(phase) || termination !== undefined || pod.metadata.deletionTimestamp !== undefined;
}

/** Adds the transition time, which changes only with the status, and the observed generation. */
function dated(result: ConditionResult, facts: StatusFacts): PodCondition {
  const before = previousOf(facts).conditions?.find(({ type }) => type === result.type);
  const { generation } = facts.pod.metadata;
  return {
    ...result,
    lastTransitionTime: transitionTime(result, before, facts),
    ...(generation && { observedGeneration: generation }),
  };
}

function transitionTime(
  { type, status }: ConditionResult,
  before: PodCondition | undefined,
  facts: StatusFacts,
): string {
  const beforeMs = Date.parse(before?.lastTransitionTime ?? "") || 0;
  const adoptedMs = type === readyToStartType && status === "True" ? adoptedSandboxMs(facts) : 0;
  // A sandbox that is newer than the condition replaced another one that the condition describes.
  const isReplaced = adoptedMs >= beforeMs + resolutionMs;
  if (before?.lastTransitionTime && before.status === status && !isReplaced) return before.lastTransitionTime;
  return formatTime(adoptedMs > 0 ? Math.min(Math.max(adoptedMs, beforeMs), facts.now) : facts.now);
}

/** Creation time of the current sandbox if a previous kubelet saw it become ready; otherwise 0. */
function adoptedSandboxMs({ observed, isFirst = false }: StatusFacts): number {
  return isFirst ? (observed?.sandboxes[0]?.createdAtMs ?? 0) : 0;
}

/** Times in the API are whole seconds. */
const resolutionMs = 1_000;

const always: ReadonlySet<string> = new Set(["Initialized", "Ready", "ContainersReady", "PodScheduled"]);

/**
 * Whether the kubelet writes conditions of this type. Other conditions are left unchanged, including those that a
 * kubelet with other feature gates wrote.
 */
export function isOwnedCondition(type: string, features: Features): boolean {
  if (type === readyToStartType) return features.PodReadyToStartContainersCondition;
  if (type === "FailingToStart") return features.PodFailingToStartCondition;
  return always.has(type);
}

const readyToStartType = "PodReadyToStartContainers";
const notReady = "PodSandboxNotReady";

/**
 * Condition PodReadyToStartContainers (KEP-3085): the pod has exactly one ready sandbox, with an IP address unless it
 * is on the host network. Volumes are mounted before the first container, so a failed mount makes it False too.
 */
export function readyToStartContainers(facts: StatusFacts): ConditionResult {
  const missing = missingForSandbox(facts) ?? missingForContainers(facts);
  if (missing === undefined) return isTrue(readyToStartType);
  const { sandboxProblem, termination } = facts;
  if (sandboxProblem && !termination)
    return isFalse(readyToStartType, sandboxProblem.reason, sandboxProblem.message);
  return isFalse(readyToStartType, notReady, missing);
}

function missingForSandbox({ pod, observed, termination }: StatusFacts): string | undefined {
  const [sandbox, ...older] = observed?.sandboxes ?? [];
  if (!sandbox) return "no pod sandbox exists";
  if (!sandbox.ready || termination?.kind === "terminated") return "pod sandbox is not ready";
  if (older.some(({ ready }) => ready)) return "multiple pod sandboxes are ready and need to be reconciled";
  if (!pod.spec?.hostNetwork && sandbox.ips.length === 0) return "pod sandbox has no IP address";
  return undefined;
}

/** A failed mount blocks all containers of the sandbox. */
function missingForContainers({ observed, sandboxProblem }: StatusFacts): string | undefined {
  const sandboxId = observed?.sandboxes[0]?.id;
  const begun = observed?.containers.some((container) => container.sandboxId === sandboxId);
  return begun || sandboxProblem?.reason !== "FailedMount" ? undefined : sandboxProblem.message;
}

/** Condition without transition time and observed generation, which podConditions adds. */
type ConditionResult = Pick<PodCondition, "type" | "status" | "reason" | "message">;

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
