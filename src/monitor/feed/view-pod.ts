import type { Container, ContainerStatus, Event, Pod } from "../../api/meta/objects.ts";
import { eventTime } from "../../api/meta/time.ts";
import { nameWorkload, workloadOf } from "../../api/pod/pod-state.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { findBudget } from "../../explain/find-budget.ts";
import { sandboxLostMs, waterfall } from "../../explain/waterfall.ts";
import { type PodStart, stageTimes } from "../measure/start-signal.ts";
import type { EventView, FinishedView, PodView, ProbeView, PullView } from "./feed-message.ts";

interface PodViewFacts extends PodFacts {
  readonly pulls: readonly PullView[];
  /** Creation of the pod, or removal of its last scheduling gate. Undefined while it has gates. */
  readonly beganMs?: number;
}

export function viewPod(facts: PodViewFacts): PodView {
  const { pod, events, pulls, beganMs } = facts;
  const { uid = "", namespace = "", name = "", creationTimestamp } = pod.metadata;
  return {
    uid,
    namespace,
    name,
    node: pod.spec?.nodeName,
    owner: workloadOf(pod),
    createdMs:
      sandboxLostMs(pod, events) ??
      beganMs ??
      (creationTimestamp ? Date.parse(creationTimestamp) : facts.now),
    ...explainPod(facts),
    spans: waterfall(pod, facts),
    pulls,
    probes: viewProbes(facts),
  };
}

type ProbeFacts = Pick<PodFacts, "pod" | "events" | "budgets" | "now">;

/** Startup probes that have not succeeded yet. */
export function viewProbes(facts: ProbeFacts): readonly ProbeView[] {
  return containersInStartup(facts.pod).map(({ container, startedMs }) => {
    const { failures, failureThreshold: threshold } = findBudget(facts, container, startedMs);
    const { periodSeconds = 10 } = container.startupProbe ?? {};
    return { container: container.name, failures, threshold, periodSeconds };
  });
}

/** Running containers whose startup probe has not succeeded yet. */
export function containersInStartup({ spec, status }: Pod): { container: Container; startedMs: number }[] {
  const statuses = new Map<string, ContainerStatus>(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((each) => [
      each.name,
      each,
    ]),
  );
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap((container) => {
    const { started, state } = statuses.get(container.name) ?? {};
    if (!container.startupProbe || started || !state?.running) return [];
    return [{ container, startedMs: Date.parse(state.running.startedAt ?? "") || 0 }];
  });
}

/** View of a finished start. Undefined if its end was not observed. */
export function viewFinished(start: PodStart): FinishedView | undefined {
  const { pod, class: of, createdMs, beganMs, userError } = start;
  const readyMs = start.ends.readiness;
  if (readyMs === undefined) return undefined;
  return {
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    node: pod.node,
    owner: nameWorkload({ kind: of.ownerKind, name: of.ownerName || pod.name, revision: of.revision }),
    revision: of.revision,
    runtimeClass: of.runtimeClass,
    storageClasses: of.storageClasses,
    createdMs: beganMs ?? createdMs,
    readyMs,
    stages: Object.fromEntries(
      stageTimes(start).map(({ stage, fromMs, untilMs }) => [stage, Math.max(0, untilMs - fromMs) / 1_000]),
    ),
    userError,
  };
}

/** Keeps the newest events, in whatever order they arrive. */
interface RecentEvents {
  add(event: Event): void;
  /** Events, newest first. */
  list(): readonly EventView[];
  /** Events of `list` that were added or changed since the last call. */
  takeChanged(): readonly EventView[];
}

export function createRecentEvents(capacity: number): RecentEvents {
  const events = new Map<string, EventView>();
  let changed = new Set<string>();

  /** Sorts and trims. Not called for each event, because the first list can be large. */
  function trim(): void {
    const newest = [...events.values()].toSorted(byTime).slice(0, capacity);
    events.clear();
    for (const view of newest) events.set(view.uid, view);
  }

  return {
    add(event) {
      const view = viewEvent(event);
      events.set(view.uid, view);
      changed.add(view.uid);
      if (events.size <= 2 * capacity) return;
      trim();
      changed = new Set([...changed].filter((uid) => events.has(uid)));
    },
    list() {
      trim();
      return [...events.values()];
    },
    takeChanged() {
      if (changed.size === 0) return [];
      trim();
      const taken = [...changed].flatMap((uid) => events.get(uid) ?? []);
      changed.clear();
      return taken.toSorted(byTime);
    },
  };
}

function byTime(a: EventView, b: EventView): number {
  return (Date.parse(b.time) || 0) - (Date.parse(a.time) || 0);
}

/** Messages are cut to this length; each snapshot contains up to 200 of them. */
const maxMessageLength = 2_000;

export function viewEvent(event: Event): EventView {
  const { metadata, involvedObject, type, reason, message, count, series } = event;
  const { kind = "", namespace, name = "" } = involvedObject;
  return {
    uid: metadata.uid ?? "",
    time: eventTime(event) ?? "",
    type: type ?? "",
    reason: reason ?? "",
    object: `${kind} ${namespace ? `${namespace}/` : ""}${name}`,
    message: (message ?? "").slice(0, maxMessageLength),
    count: series?.count ?? count ?? 1,
  };
}
