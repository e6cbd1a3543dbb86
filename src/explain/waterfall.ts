import { conditionOf } from "../api/meta/object-facts.ts";
import type { ContainerStatus, Event, Pod } from "../api/meta/objects.ts";
import { eventTime } from "../api/meta/time.ts";
import { hasEnded, isTerminating } from "../api/pod/pod-state.ts";
import { parseGoDuration } from "../lib/go-duration.ts";
import type { PodFacts } from "./explanation.ts";

/** One stage of a pod's startup. Without an end it is still running. */
export interface Span {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

interface PartialSpan {
  readonly name: string;
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/**
 * Durations of a pod's startup stages according to its conditions and containers. Unknown stages are omitted. With the
 * pod's events and running pulls, pulls are separate spans. After the loss of a sandbox these are the stages of the current
 * start, which begins with the loss.
 */
export function waterfall(
  pod: Pod,
  { events = [], pulls = [] }: Partial<PullSpanFacts> = {},
): readonly Span[] {
  // The conditions of a terminated pod no longer describe its startup.
  const spans = hasEnded(pod) ? terminatedSpans(pod) : startupSpans(pod, { events, pulls });
  return spans
    .flatMap(({ name, startMs, endMs }) =>
      startMs === undefined
        ? []
        : [{ name, startMs, endMs: endMs === undefined ? undefined : Math.max(startMs, endMs) }],
    )
    .toSorted((a, b) => a.startMs - b.startMs);
}

function startupSpans(pod: Pod, { events, pulls }: PullSpanFacts): readonly PartialSpan[] {
  const becameTrue = trueSince(pod);
  const scheduled = becameTrue("PodScheduled");
  const sandbox = becameTrue("PodReadyToStartContainers");
  const lost = sandboxLostMs(pod, events);
  const since = (time: number | undefined) =>
    time === undefined || lost === undefined || time >= lost ? time : undefined;
  const inits = initSpans(pod).filter(({ startMs }) => since(startMs) !== undefined);
  const hasInit = (pod.status?.initContainerStatuses ?? []).length > 0;
  const initialized = hasInit ? since(becameTrue("Initialized")) : sandbox;
  const images = pulled(pod, { events: eventsSince(events, lost), pulls }, lost ?? scheduled);
  const started = lost === undefined ? startedMs(pod, events) : startedAgainMs(pod, sandbox);
  const lastPull = images.at(-1);
  const creation = {
    name: lastPull ? "containers" : "images and containers",
    startMs: lastPull && initialized ? later(initialized, lastPull.endMs) : initialized,
    endMs: started,
  };
  const scheduling = {
    name: "scheduling",
    startMs: timeMs(pod.metadata.creationTimestamp),
    endMs: scheduled,
  };
  return [
    ...(lost === undefined ? [scheduling] : []),
    { name: "volumes and sandbox", startMs: lost ?? scheduled, endMs: sandbox },
    ...inits,
    ...images,
    creation,
    { name: "until ready", startMs: started, endMs: since(becameTrue("Ready")) },
  ];
}

/**
 * Time at which the pod lost its previous sandbox. Undefined if it still has its first one. While the pod has no sandbox,
 * its condition contains the time; afterwards it comes from the kubelet's event, or from the last exit of a container that
 * ran in the previous sandbox.
 */
export function sandboxLostMs(pod: Pod, events: readonly Event[]): number | undefined {
  const condition = conditionOf(pod, "PodReadyToStartContainers");
  const changedMs = timeMs(condition?.lastTransitionTime);
  if (condition === undefined || changedMs === undefined || isTerminating(pod)) return undefined;
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const runs = completedRuns(containerStatuses);
  const startedBefore = (time: number) =>
    [...runs, ...completedRuns(initContainerStatuses)].some(({ startedMs }) => startedMs < time);
  if (condition.status !== "True") return startedBefore(changedMs) ? changedMs : undefined;
  // Kubelets record this event also when they retry to create the first sandbox, in which no container ran.
  const changes = events
    .filter(({ reason }) => reason === "SandboxChanged")
    .flatMap((event) => timeMs(eventTime(event)) ?? [])
    .filter((time) => time <= changedMs && startedBefore(time));
  // Init containers are ignored: some kubelets write the condition of the first sandbox after a short one has exited.
  const exits = runs.map(({ finishedMs }) => finishedMs).filter((time) => time <= changedMs);
  const [times] = [changes, exits].filter(({ length }) => length > 0);
  return times && Math.max(...times);
}

/** Runs of containers that have exited. A container that could not be started has a start at the epoch. */
function completedRuns(statuses: readonly ContainerStatus[]) {
  return statuses
    .flatMap(({ state, lastState }) => [state?.terminated ?? [], lastState?.terminated ?? []].flat())
    .map(({ startedAt, finishedAt }) => ({
      startedMs: timeMs(startedAt) ?? 0,
      finishedMs: timeMs(finishedAt) ?? 0,
    }))
    .filter(({ startedMs, finishedMs }) => startedMs > 0 && finishedMs > 0);
}

function eventsSince(events: readonly Event[], fromMs: number | undefined): readonly Event[] {
  return fromMs === undefined ? events : events.filter((each) => (timeMs(eventTime(each)) ?? 0) >= fromMs);
}

/** Time of the last container's first known start in the current sandbox. */
function startedAgainMs({ status }: Pod, sandbox: number | undefined): number | undefined {
  if (sandbox === undefined) return undefined;
  const starts = (status?.containerStatuses ?? []).flatMap(({ state, lastState }) => {
    const known = [lastState?.terminated, state?.terminated ?? state?.running];
    return known.map((run) => timeMs(run?.startedAt)).find((time) => time && time >= sandbox) ?? [];
  });
  return starts.length > 0 ? Math.max(...starts) : undefined;
}

/** Spans of a terminated pod: scheduling and run time. */
function terminatedSpans(pod: Pod): readonly PartialSpan[] {
  const ran = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const starts = ran.flatMap(({ startedAt }) => timeMs(startedAt) ?? []);
  const ends = ran.flatMap(({ finishedAt }) => timeMs(finishedAt) ?? []);
  const scheduled = trueSince(pod)("PodScheduled");
  const started = starts.length > 0 ? Math.min(...starts) : undefined;
  const known: readonly PartialSpan[] = [
    { name: "scheduling", startMs: timeMs(pod.metadata.creationTimestamp), endMs: scheduled },
    { name: "until it ran", startMs: scheduled, endMs: started },
    { name: "ran", startMs: started, endMs: ends.length > 0 ? Math.max(...ends) : undefined },
  ];
  return known.filter(({ endMs }) => endMs !== undefined);
}

function trueSince(pod: Pod) {
  return (type: string) => {
    const condition = conditionOf(pod, type);
    return condition?.status === "True" ? timeMs(condition.lastTransitionTime) : undefined;
  };
}

function initSpans({ status }: Pod): readonly PartialSpan[] {
  return (status?.initContainerStatuses ?? []).map(({ name, state, lastState }) => {
    const ran = state?.terminated ?? state?.running ?? lastState?.terminated;
    return {
      name: `init ${name}`,
      startMs: timeMs(ran?.startedAt),
      endMs: timeMs(state?.terminated?.finishedAt),
    };
  });
}

/** Event times have whole seconds; a pull starts after scheduling at the earliest. */
function pulled(pod: Pod, facts: PullSpanFacts, scheduled: number | undefined): readonly Span[] {
  return pullSpans(pod, facts).map((span) => ({
    ...span,
    startMs: later(span.startMs, scheduled) ?? span.startMs,
  }));
}

/** Time of the last container's first start. For a restarted container it comes from the first event. */
function startedMs({ status }: Pod, events: readonly Event[]): number | undefined {
  const first = ({ name, restartCount, state }: ContainerStatus) => {
    if (restartCount === 0) return timeMs((state?.running ?? state?.terminated)?.startedAt);
    const event = events.find(
      ({ reason, involvedObject }) => reason === "Started" && involvedObject.fieldPath?.endsWith(`{${name}}`),
    );
    return timeMs(event?.firstTimestamp);
  };
  const starts = (status?.containerStatuses ?? []).flatMap((each) => first(each) ?? []);
  return starts.length > 0 ? Math.max(...starts) : undefined;
}

function later(a: number, b: number | undefined): number;
function later(a: number | undefined, b: number | undefined): number | undefined;
function later(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

function timeMs(time: string | null | undefined): number | undefined {
  return time ? Date.parse(time) : undefined;
}

export interface PullSpanFacts {
  readonly events: readonly Event[];
  readonly pulls: PodFacts["pulls"];
}

interface PullSpan {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

/** Pulls of a pod: completed ones from events with durations, and running ones. */
function pullSpans({ spec }: Pod, { events, pulls }: PullSpanFacts): readonly PullSpan[] {
  const names = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name);
  return names.flatMap((name): PullSpan[] => {
    const running = pulls.find(({ container }) => container === name);
    if (running) return [spanOf(running.image, Date.parse(running.startedAt), undefined)];
    const past = events.flatMap((event) => {
      if (event.reason !== "Pulled" || !event.involvedObject.fieldPath?.endsWith(`{${name}}`)) return [];
      const [, image, took] =
        /^Successfully pulled image "([^"]+)" in \S+ \((\S+) including/.exec(event.message ?? "") ?? [];
      const endMs = Date.parse(eventTime(event) ?? "");
      const tookMs = parseGoDuration(took ?? "");
      if (!image || tookMs === undefined || Number.isNaN(endMs)) return [];
      return [spanOf(image, endMs - tookMs, endMs)];
    });
    return past.slice(0, 1);
  });
}

function spanOf(image: string, startMs: number, endMs: number | undefined): PullSpan {
  const short =
    image
      .split("/")
      .at(-1)
      ?.replace(/@sha256:.*/, "") ?? image;
  return { name: `pull ${short.length > 24 ? `${short.slice(0, 23)}…` : short}`, startMs, endMs };
}
