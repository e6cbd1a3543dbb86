import { conditionOf } from "../../api/conditions.ts";
import type { ContainerStatus, Pod } from "../../api/objects.ts";

/** What a pod's object tells of its start, with times in milliseconds; what it does not tell is undefined. */
export interface PodReading {
  readonly createdMs: number | undefined;
  readonly scheduledMs: number | undefined;
  readonly sandbox: ConditionReading | undefined;
  readonly hasInit: boolean;
  readonly initialized: ConditionReading | undefined;
  readonly containers: ContainersReading;
  readonly ready: ConditionReading | undefined;
  readonly restarts: Readonly<Record<string, number>>;
  readonly phase: string | undefined;
  /** When its deletion was asked for. */
  readonly askedMs: number | undefined;
  /** The latest time anywhere in its status. */
  readonly lastChangeMs: number;
}

interface ConditionReading {
  readonly isTrue: boolean;
  readonly atMs: number | undefined;
  /** It is false and, as far as one can know, has been true before. */
  readonly wasTrue: boolean;
}

type ContainersReading =
  | { readonly kind: "waiting" }
  /** All have started, the last of them then. Undefined: when is not to be known any more. */
  | { readonly kind: "started"; readonly atMs: number | undefined };

/** Times have whole seconds: two that were taken one after the other may differ by this and mean the same moment. */
export const resolutionMs = 1_000;

/** Only then is there a stage `init`. */
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
    // The kubelet writes the start time together with its first conditions: a false one of the same moment never turned.
    const isFirst = atMs !== undefined && startTimeMs !== undefined && atMs <= startTimeMs + resolutionMs;
    return { isTrue, atMs, wasTrue: !isTrue && !isFirst };
  }

  const sandbox = condition("PodReadyToStartContainers");
  const scheduled = condition("PodScheduled");
  return {
    createdMs: timeMs(metadata.creationTimestamp),
    scheduledMs: scheduled?.isTrue ? scheduled.atMs : undefined,
    // Containers run in a sandbox: where one has run there was one.
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
    phase: status?.phase,
    askedMs: readAsked(pod),
    lastChangeMs: lastChange(pod),
  };
}

/** The deletion timestamp is the end of the grace period, so it is later than the request by that long. */
function readAsked({ metadata }: Pod): number | undefined {
  const deletionMs = timeMs(metadata.deletionTimestamp);
  if (deletionMs === undefined) return undefined;
  return deletionMs - (metadata.deletionGracePeriodSeconds ?? 0) * 1_000;
}

function readContainers(wanted: number, statuses: readonly ContainerStatus[]): ContainersReading {
  const ran = statuses.filter(hasRun);
  if (wanted === 0 || ran.length < wanted) return { kind: "waiting" };
  const known = ran.map(firstStart);
  // Where only a later start of a container is known, its first was before that: it matters if it may be the last.
  const latest = Math.max(...known.map(({ atMs }) => atMs));
  const isExact = known.some(({ atMs, exact }) => exact && atMs === latest);
  return { kind: "started", atMs: isExact ? latest : undefined };
}

/** The first start of a container, or, when it has been forgotten, the earliest that is still known. */
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

/** A container that could not be started is terminated too, with a start at the epoch. */
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
