import type { Pod, StatefulSet } from "../../api/objects.ts";
import type { Informer } from "../../client/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { isAvailable, isTerminating } from "../pod-state.ts";
import { maxUnavailableOf } from "./decide-update.ts";
import { isInRange, isMemberOf, ordinalOf, ordinalsOf } from "./pod-identity.ts";

interface MeasureDeps {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly sets: Pick<Informer<StatefulSet>, "list">;
  readonly pods: Pick<Informer<Pod>, "byIndex">;
}

const maxUnavailable = {
  name: "statefulset_controller_statefulset_max_unavailable",
  help: "How many pods of a StatefulSet may be unavailable while it is updated",
};
const unavailableReplicas = {
  name: "statefulset_controller_statefulset_unavailable_replicas",
  help: "How many pods of a StatefulSet are missing or unavailable",
};
const staleSkips = {
  name: "statefulset_controller_stale_sync_skips_total",
  help: "Looks at a StatefulSet that were put off until what was done before is seen",
};

/** Upstream's metrics of StatefulSets, read from what informers have; answers with what counts a look put off. */
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
  const end = () => {
    for (const remove of removals) remove();
  };
  signal.addEventListener("abort", end, { once: true });
  return metrics.counter(staleSkips, { group: "apps", resource: "statefulsets" }).add;
}

function isRolling({ spec }: StatefulSet): boolean {
  const { type = "RollingUpdate" } = spec?.updateStrategy ?? {};
  return type === "RollingUpdate" || type === "EnforcedRollingUpdate";
}

function countUnavailable({ pods, clock }: MeasureDeps, set: StatefulSet): number {
  const { minReadySeconds = 0 } = set.spec ?? {};
  const now = clock.now();
  const isThere = (pod: Pod) =>
    isMemberOf(set, pod) &&
    isInRange(set, ordinalOf(pod)) &&
    !isTerminating(pod) &&
    isAvailable(pod, minReadySeconds, now);
  const { first, last } = ordinalsOf(set);
  return last - first + 1 - pods.byIndex("controller", set.metadata.uid ?? "").filter(isThere).length;
}

function labelsOf({ metadata, spec }: StatefulSet) {
  return {
    statefulset_namespace: metadata.namespace ?? "",
    statefulset_name: metadata.name ?? "",
    pod_management_policy: spec?.podManagementPolicy ?? "OrderedReady",
  };
}
