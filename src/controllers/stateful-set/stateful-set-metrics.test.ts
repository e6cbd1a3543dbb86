import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMetrics } from "../../lib/metrics/metrics.ts";
import { makePod, makeSet, now, type SetOptions } from "./stateful-set.fixture.ts";
import { measureStatefulSets } from "./stateful-set-metrics.ts";

function measure(options: SetOptions, lines: readonly string[]) {
  const metrics = createMetrics();
  const set = makeSet(options);
  const pods: Pod[] = lines.map((line) => makePod(set, line));
  const stopping = new AbortController();
  const deps = {
    metrics,
    clock: createManualClock(now),
    sets: { list: () => [set] },
    pods: { byIndex: (_: string, uid: string) => (uid === set.metadata.uid ? pods : []) },
  };
  const skip = measureStatefulSets(deps, stopping.signal);
  const values = () =>
    metrics
      .text()
      .split("\n")
      .filter((line) => line && !line.startsWith("#"))
      .map((line) => line.replace("statefulset_controller_", "").replace(/\{.*\}/, ""));
  return { metrics, values, skip, stop: () => stopping.abort() };
}

test.each<[SetOptions, readonly string[], readonly string[]]>([
  [{}, [], ["statefulset_max_unavailable 1", "statefulset_unavailable_replicas 3"]],
  [
    { type: "EnforcedRollingUpdate", maxUnavailable: "70%" },
    ["0 new ready", "1 old ready", "2 old failing"],
    ["statefulset_max_unavailable 2", "statefulset_unavailable_replicas 1"],
  ],
  [{ type: "OnDelete" }, ["0 new ready", "1 new terminating"], ["statefulset_unavailable_replicas 2"]],
  // Condemned pods do not replace missing ones.
  [
    { replicas: 1, minReadySeconds: 60 },
    ["0 new justReady", "1 new ready"],
    ["statefulset_max_unavailable 1", "statefulset_unavailable_replicas 1"],
  ],
])("%j %j", (options, pods, expected) => {
  expect(measure(options, pods).values()).toEqual([...expected, "stale_sync_skips_total 0"]);
});

test("labels metrics with the set, counts skipped syncs and removes the gauges on abort", () => {
  const { metrics, values, skip, stop } = measure({ policy: "Parallel", type: "OnDelete" }, []);
  expect(metrics.text()).toContain(
    '{statefulset_namespace="default",statefulset_name="web",pod_management_policy="Parallel"} 3',
  );
  skip();
  stop();
  expect(values()).toEqual(["stale_sync_skips_total 1"]);
});
