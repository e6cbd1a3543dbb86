import { conditionOf } from "../../api/meta/object-facts.ts";
import type { ContainerStatus, Event, Pod } from "../../api/meta/objects.ts";
import { findCause, setsFailingToStart } from "../../explain/causes.ts";
import { currentFailingToStart } from "../../explain/pod-health.ts";

/** Facts about the start of a pod from its object. Times are in milliseconds, unknown values undefined. */
export interface PodReading {
  readonly createdMs: number | undefined;
  readonly scheduledMs: number | undefined;
  readonly sandbox: ConditionReading | undefined;
  readonly hasInit: boolean;
  readonly initialized: ConditionReading | undefined;
  readonly containers: ContainersReading;
  readonly ready: ConditionReading | undefined;
  readonly restarts: Readonly<Record<string, number>>;
  /** Whether the pod has scheduling gates. */
  readonly isGated: boolean;
  /** Name of a container in CrashLoopBackOff. */
  readonly crashLooping: string | undefined;
  readonly phase: string | undefined;
  /** Time of the deletion request. */
  readonly deletionRequestedMs: number | undefined;
  /** Latest time in the status. */
  readonly lastChangeMs: number;
}

interface ConditionReading {
  readonly isTrue: boolean;
  readonly atMs: number | undefined;
  /** Whether the condition is false and was probably true before. */
  readonly wasTrue: boolean;
}

type ContainersReading =
  | { readonly kind: "waiting" }
  /** All containers have started, the last one at `atMs`. Undefined if the time is no longer known. */
  | { readonly kind: "started"; readonly atMs: number | undefined };

/** Times are whole seconds, so times of the same moment can differ by this. */
export const resolutionMs = 1_000;

/** Whether the pod has the stage `init`. */
export function hasInit({ spec }: Pod): boolean {
  return (spec?.initContainers ?? []).length > 0;
}

export function readPod(pod: Pod): PodReading {
  const { metadata, spec, status } = pod;
  const startTimeMs = timeMs(status?.startTime);
  const inits = status?.initContainerStatuses ?? [];
  const containers = status?.containerStatuses ?? [];
  const everRan = [...inits, ...containers].some(hasRun);

  function condition(type: string): ConditionReading | undefined {
    const found = conditionOf(pod, type);
    if (!found) return undefined;
    const isTrue = found.status === "True";
    const atMs = timeMs(found.lastTransitionTime);
    // The kubelet writes the start time with its first conditions, so a false one of that time was never true.
    const isFirst = atMs !== undefined && startTimeMs !== undefined && atMs <= startTimeMs + resolutionMs;
    return { isTrue, atMs, wasTrue: !isTrue && !isFirst };
  }

  const sandbox = condition("PodReadyToStartContainers");
  const scheduled = condition("PodScheduled");
  return {
    createdMs: timeMs(metadata.creationTimestamp),
    scheduledMs: scheduled?.isTrue ? scheduled.atMs : undefined,
    // A container that has run implies that a sandbox existed.
    sandbox: sandbox && { ...sandbox, wasTrue: sandbox.wasTrue || (!sandbox.isTrue && everRan) },
    hasInit: hasInit(pod),
    initialized: condition("Initialized"),
    containers: readContainers(spec?.containers.length ?? 0, containers),
    ready: condition("Ready"),
    restarts: Object.fromEntries(
      [...inits, ...containers].flatMap(({ name, restartCount }) =>
        restartCount > 0 ? [[name, restartCount]] : [],
      ),
    ),
    isGated: (spec?.schedulingGates ?? []).length > 0,
    crashLooping: [...inits, ...containers].find(({ state }) => state?.waiting?.reason === "CrashLoopBackOff")
      ?.name,
    phase: status?.phase,
    deletionRequestedMs: readDeletionRequest(pod),
    lastChangeMs: lastChange(pod),
  };
}

/** Time of the request: the deletion timestamp minus the grace period. */
function readDeletionRequest({ metadata }: Pod): number | undefined {
  const deletionMs = timeMs(metadata.deletionTimestamp);
  if (deletionMs === undefined) return undefined;
  return deletionMs - (metadata.deletionGracePeriodSeconds ?? 0) * 1_000;
}

function readContainers(wanted: number, statuses: readonly ContainerStatus[]): ContainersReading {
  const ran = statuses.filter(hasRun);
  if (wanted === 0 || ran.length < wanted) return { kind: "waiting" };
  const known = ran.map(firstStart);
  // If only a later start of a container is known, the result is exact unless that container could be the last.
  const latest = Math.max(...known.map(({ atMs }) => atMs));
  const isExact = known.some(({ atMs, exact }) => exact && atMs === latest);
  return { kind: "started", atMs: isExact ? latest : undefined };
}

/** First start of a container, or the earliest known one. */
function firstStart({ state, lastState, restartCount }: ContainerStatus): { atMs: number; exact: boolean } {
  const now = startOf(state?.running) ?? startOf(state?.terminated);
  const before = startOf(lastState?.terminated);
  if (restartCount === 0 && now !== undefined) return { atMs: now, exact: true };
  if (restartCount === 1 && before !== undefined) return { atMs: before, exact: true };
  return { atMs: before ?? now ?? Number.POSITIVE_INFINITY, exact: false };
}

function hasRun({ state, lastState, restartCount }: ContainerStatus): boolean {
  const starts = [startOf(state?.running), startOf(state?.terminated), startOf(lastState?.terminated)];
  return restartCount > 0 || starts.some((each) => each !== undefined);
}

/** Start time. A container that failed to start is terminated with a start at the epoch. */
function startOf(ran: { readonly startedAt?: string | null } | undefined): number | undefined {
  const atMs = timeMs(ran?.startedAt);
  return atMs !== undefined && atMs > 0 ? atMs : undefined;
}

function lastChange({ status }: Pod): number {
  const ended = (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt);
  const turned = (status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime);
  return Math.max(0, ...[...ended, ...turned].map((time) => timeMs(time) ?? 0));
}

function timeMs(time: string | null | undefined): number | undefined {
  const ms = time ? Date.parse(time) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

interface UserError {
  /** Reason with few distinct values, used as a metric label. */
  readonly reason: string;
  /** One line for users. */
  readonly message: string;
}

const maxMessageLength = 200;

/** Finds an error of the pod itself in its status, which neither the cluster nor its plugins can fix. */
export function findUserError(pod: Pod): UserError | undefined {
  const { status } = pod;
  const failing = currentFailingToStart(pod);
  if (failing) return userError(failing.reason ?? "FailingToStart", failing.message);
  const sandbox = conditionOf(pod, "PodReadyToStartContainers");
  const mount = sandbox?.status === "False" ? missingMount(sandbox.message) : undefined;
  if (mount) return mount;
  // Other kubelets lack the condition FailingToStart, but report the waiting reasons that it is derived from.
  for (const { state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && setsFailingToStart(reason)) return userError(reason, message);
  }
  return undefined;
}

/** KEP-3085: mounts that fail because of a missing Secret, ConfigMap or key are user errors. */
export function userErrorIn({ reason, message }: Event): UserError | undefined {
  return reason === "FailedMount" ? missingMount(message) : undefined;
}

function missingMount(message = ""): UserError | undefined {
  const cause = findCause({ reason: "FailedMount", message });
  const [kind, name] = cause?.message?.exec(message)?.slice(1) ?? [];
  if (cause?.name === "MissingVolumeKey")
    return userError("MissingKey", `${kind} key ${name} does not exist`);
  if (cause?.name !== "MissingVolumeObject") return undefined;
  return userError(kind === "secret" ? "MissingSecret" : "MissingConfigMap", `${kind} "${name}" not found`);
}

function userError(reason: string, message: string | undefined): UserError {
  return { reason, message: (message ? `${reason}: ${message}` : reason).slice(0, maxMessageLength) };
}
