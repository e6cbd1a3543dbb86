import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { isAvailable, isTerminating } from "../../api/pod/pod-state.ts";
import type { Informer } from "../../client/informers/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import { isInRange, isMemberOf, ordinalOf, ordinalsOf } from "./pod-identity.ts";
import { maxUnavailableOf } from "./rollout.ts";

interface MeasureDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly sets: Pick<Informer<StatefulSet>, "list">;
  readonly pods: Pick<Informer<Pod>, "byIndex">;
}

const maxUnavailable = {
  name: "statefulset_controller_statefulset_max_unavailable",
  help: "Maximum number of pods of a StatefulSet that may be unavailable during an update",
};
const unavailableReplicas = {
  name: "statefulset_controller_statefulset_unavailable_replicas",
  help: "Number of pods of a StatefulSet that are missing or unavailable",
};
const staleSkips = {
  name: "statefulset_controller_stale_sync_skips_total",
  help: "Total number of StatefulSet syncs skipped because earlier writes were not observed yet",
};

/** Registers upstream's StatefulSet metrics, computed from the informers. Returns a function that counts a skipped sync. */
export function measureStatefulSets(deps: MeasureDeps, signal: AbortSignal): () => void {
  const { metrics, sets } = deps;
  const removals = [
    metrics.gauge(maxUnavailable, () =>
      Array.from(sets.list())
        .filter(isRolling)
        .map((set) => [labelsOf(set), maxUnavailableOf(set)]),
    ),
    metrics.gauge(unavailableReplicas, () =>
      Array.from(sets.list(), (set) => [labelsOf(set), countUnavailable(deps, set)]),
    ),
  ];
  const close = () => {
    for (const remove of removals) remove();
  };
  signal.addEventListener("abort", close, { once: true });
  return metrics.counter(staleSkips, { group: "apps", resource: "statefulsets" }).add;
}

function isRolling({ spec }: StatefulSet): boolean {
  const { type = "RollingUpdate" } = spec?.updateStrategy ?? {};
  return type === "RollingUpdate" || type === "EnforcedRollingUpdate";
}

function countUnavailable({ pods, clock }: MeasureDeps, set: StatefulSet): number {
  const { minReadySeconds = 0 } = set.spec ?? {};
  const now = clock.now();
  const isAvailableReplica = (pod: Pod) =>
    isMemberOf(set, pod) &&
    isInRange(set, ordinalOf(pod)) &&
    !isTerminating(pod) &&
    isAvailable(pod, minReadySeconds, now);
  const { first, last } = ordinalsOf(set);
  return (
    last - first + 1 - pods.byIndex("controller", set.metadata.uid ?? "").filter(isAvailableReplica).length
  );
}

function labelsOf({ metadata, spec }: StatefulSet) {
  return {
    statefulset_namespace: metadata.namespace ?? "",
    statefulset_name: metadata.name ?? "",
    pod_management_policy: spec?.podManagementPolicy ?? "OrderedReady",
  };
}
