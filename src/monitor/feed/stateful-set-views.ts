import { isReady } from "../../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { explainPod } from "../../explain/explain-pod.ts";
import { explainStatefulSet, type Platform } from "../../explain/explain-stateful-set.ts";
import { podHealth } from "../../explain/pod-health.ts";
import { ordinalOf, revisionOf } from "../../explain/stateful-set-pods.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Monitor, StartingPod } from "../tracking/monitor.ts";
import type { StatefulSetView } from "./feed-message.ts";
import { createViewTable, type ViewTable } from "./view-table.ts";

export interface StatefulSetViews extends Pick<ViewTable, "takeChanges" | "texts"> {
  markDirty(key: string): void;
  /** Recomputes dirty views, and all views periodically, because a rollout can become blocked by the passage of time. */
  update(now: number): void;
  clear(): void;
}

interface StatefulSetViewsDeps {
  readonly monitor: Pick<Monitor, "podsOf">;
  readonly sets: { get(key: string): StatefulSet | undefined; list(): Iterable<StatefulSet> };
  readonly logger: Logger;
  findStarting(uid: string): StartingPod | undefined;
  /** Returns what is known about the cluster. */
  platform(): Platform;
}

/** Interval of the full recomputation; it grows with the number of sets. */
const intervalMs = 2_000;
const intervalMsPerSet = 2;

export function createStatefulSetViews(deps: StatefulSetViewsDeps): StatefulSetViews {
  const table = createViewTable();
  const dirty = new Set<string>();
  let nextAllMs = 0;

  function refresh(set: StatefulSet, now: number): void {
    const explain = (pod: Pod) => {
      const events = deps.findStarting(pod.metadata.uid ?? "")?.events ?? [];
      return explainPod({ pod, events, pulls: [], budgets: [], advice: [], now }).because;
    };
    const pods = deps.monitor.podsOf(set.metadata.uid ?? "");
    try {
      table.set(keyOf(set), viewStatefulSet({ set, pods, explain, platform: deps.platform(), now }));
    } catch (error) {
      // An invalid set must not prevent the others from being shown.
      deps.logger.warn("computing the view of a StatefulSet failed", { set: keyOf(set), error });
    }
  }

  return {
    markDirty: (key) => void dirty.add(key),
    update(now) {
      for (const key of dirty) {
        const set = deps.sets.get(key);
        if (set) refresh(set, now);
        else table.delete(key);
      }
      dirty.clear();
      if (now < nextAllMs) return;
      for (const set of deps.sets.list()) refresh(set, now);
      nextAllMs = now + Math.max(intervalMs, table.size() * intervalMsPerSet);
    },
    takeChanges: table.takeChanges,
    texts: table.texts,
    clear() {
      table.clear();
      dirty.clear();
      nextAllMs = 0;
    },
  };
}

type Health = StatefulSetView["ordinals"][number]["health"];

export interface StatefulSetViewFacts {
  readonly set: StatefulSet;
  /** Pods that the set controls. */
  readonly pods: readonly Pod[];
  readonly platform?: Platform;
  /** Returns a sentence that explains what a pod waits for. */
  explain(pod: Pod): string;
  readonly now: number;
}

/** Maximum number of ordinals shown. */
const maxOrdinals = 1_000;

/** A pod that is not ready after this time counts as blocking the rollout, even without a failure. */
const slowStartMs = 30_000;

export function viewStatefulSet(facts: StatefulSetViewFacts): StatefulSetView {
  const { set } = facts;
  const { namespace = "", name = "" } = set.metadata;
  const replicas = set.spec?.replicas ?? 1;
  return {
    namespace,
    name,
    strategy: set.spec?.updateStrategy?.type ?? "RollingUpdate",
    replicas,
    updateRevision: set.status?.updateRevision ?? "",
    ordinals: viewOrdinals(facts, replicas),
    blockedBy: explainBlock(facts),
  };
}

function viewOrdinals(
  { set, pods, now }: StatefulSetViewFacts,
  replicas: number,
): StatefulSetView["ordinals"] {
  const first = set.spec?.ordinals?.start ?? 0;
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  // Pods beyond the replicas still exist after scaling down.
  const wanted = Array.from({ length: Math.min(replicas, maxOrdinals) }, (_, i) => first + i);
  const ordinals = [...new Set([...wanted, ...byOrdinal.keys()])].sort((a, b) => a - b).slice(0, maxOrdinals);
  return ordinals.map((ordinal) => {
    const pod = byOrdinal.get(ordinal);
    return {
      ordinal,
      revision: (pod && revisionOf(pod)) ?? "",
      health: pod ? healthOf(pod, now) : "missing",
    };
  });
}

function healthOf(pod: Pod, now: number): Health {
  if (pod.metadata.deletionTimestamp) return "terminating";
  if (isReady(pod)) return "ready";
  return podHealth(pod, { now }).kind === "progressing" ? "starting" : "failing";
}

function explainBlock({ set, pods, explain, platform, now }: StatefulSetViewFacts): string | undefined {
  const whole = explainStatefulSet({ set, pods, platform, now });
  const pod = pods.find(({ metadata }) => metadata.name === whole.blockingPod);
  if (pod) {
    const sinceMs = Date.parse(pod.metadata.deletionTimestamp ?? pod.metadata.creationTimestamp ?? "");
    if (healthOf(pod, now) !== "failing" && now - sinceMs <= slowStartMs) return undefined;
    const why = `${pod.metadata.name}: ${explain(pod)}`;
    return whole.isTransient ? why : `${whole.because} ${why}`;
  }
  return whole.isTransient ? stuckMessage(set) : whole.because;
}

/** Message of the condition Progressing=False. Recreate also sets it when the rollout is complete. */
function stuckMessage({ status }: StatefulSet): string | undefined {
  const progressing = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.status !== "False" || progressing.reason === "RecreateCompleted") return undefined;
  return progressing.message;
}
