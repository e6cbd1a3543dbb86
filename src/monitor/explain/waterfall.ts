import { conditionOf } from "../../api/conditions.ts";
import type { ContainerStatus, Event, Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import { type PullSpanFacts, pullSpans } from "./pull-spans.ts";

/** One stretch of a pod's way. Without an end it goes on. */
export interface Span {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number | undefined;
}

interface Stretch {
  readonly name: string;
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

/**
 * How long a pod was in each stage, as far as its conditions and containers tell; what cannot be known is left out.
 * With the pod's events and running pulls, pulls are told apart from the rest.
 */
export function waterfall(
  pod: Pod,
  { events = [], pulls = [] }: Partial<PullSpanFacts> = {},
): readonly Span[] {
  // The conditions of a pod that has ended say nothing of its start any more.
  const stretches = hasEnded(pod) ? pastStretches(pod) : stretchesOf(pod, { events, pulls });
  return stretches
    .flatMap(({ name, startMs, endMs }) =>
      startMs === undefined
        ? []
        : [{ name, startMs, endMs: endMs === undefined ? undefined : Math.max(startMs, endMs) }],
    )
    .toSorted((a, b) => a.startMs - b.startMs);
}

function stretchesOf(pod: Pod, { events, pulls }: PullSpanFacts): readonly Stretch[] {
  const becameTrue = trueSince(pod);
  const scheduled = becameTrue("PodScheduled");
  const sandbox = becameTrue("PodReadyToStartContainers");
  const inits = initStretches(pod);
  const initialized = inits.length > 0 ? becameTrue("Initialized") : sandbox;
  const images = pulled(pod, { events, pulls }, scheduled);
  const started = startedMs(pod, events);
  const lastPull = images.at(-1);
  const made = {
    name: lastPull ? "containers" : "images and containers",
    startMs: lastPull && initialized ? later(initialized, lastPull.endMs) : initialized,
    endMs: started,
  };
  return [
    { name: "scheduling", startMs: timeMs(pod.metadata.creationTimestamp), endMs: scheduled },
    { name: "volumes and sandbox", startMs: scheduled, endMs: sandbox },
    ...inits,
    ...images,
    made,
    { name: "until ready", startMs: started, endMs: becameTrue("Ready") },
  ];
}

/** All that is left of it: its scheduling, and when its containers ran. */
function pastStretches(pod: Pod): readonly Stretch[] {
  const ran = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const starts = ran.flatMap(({ startedAt }) => timeMs(startedAt) ?? []);
  const ends = ran.flatMap(({ finishedAt }) => timeMs(finishedAt) ?? []);
  const scheduled = trueSince(pod)("PodScheduled");
  const started = starts.length > 0 ? Math.min(...starts) : undefined;
  const known: readonly Stretch[] = [
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

function initStretches({ status }: Pod): readonly Stretch[] {
  return (status?.initContainerStatuses ?? []).map(({ name, state, lastState }) => {
    const ran = state?.terminated ?? state?.running ?? lastState?.terminated;
    return {
      name: `init ${name}`,
      startMs: timeMs(ran?.startedAt),
      endMs: timeMs(state?.terminated?.finishedAt),
    };
  });
}

/** Events have whole seconds: a pull does not begin before its pod had a node. */
function pulled(pod: Pod, facts: PullSpanFacts, scheduled: number | undefined): readonly Span[] {
  return pullSpans(pod, facts).map((span) => ({
    ...span,
    startMs: later(span.startMs, scheduled) ?? span.startMs,
  }));
}

/** When the last container came up for the first time. Of one that was restarted the first event tells. */
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
