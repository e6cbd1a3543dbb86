import fc from "fast-check";
import { expect, test } from "vitest";
import type { Pod, PodCondition } from "../api/meta/objects.ts";
import { conflict } from "../api/meta/status-error.ts";
import type { Client, WatchEvent } from "../client/api/client.ts";
import { createAsyncQueue } from "../lib/async-queue.ts";
import { silentLogger } from "../lib/logger.ts";
import { createManualClock, type ManualClock } from "../lib/manual-clock.ts";
import { createMetrics } from "../lib/metrics/metrics.ts";
import { runConditionsController, writeWaitMs } from "./conditions-controller.ts";

type State = "stuck" | "running";

/** Pods of an API server that takes 50 ms for a PATCH. */
function createPods(clock: ManualClock, count: number) {
  const pods = new Map<string, Pod>();
  const events = createAsyncQueue<WatchEvent<Pod>>({ capacity: Number.POSITIVE_INFINITY });
  const patchTimes: number[] = [];
  let version = 1;
  const change = (name: string, status: Pod["status"]) => {
    const resourceVersion = String(++version);
    const metadata = { name, namespace: "default", uid: name, resourceVersion };
    const object: Pod = { apiVersion: "v1", kind: "Pod", metadata, status };
    pods.set(name, object);
    events.push({ type: "MODIFIED", object });
  };
  const turn = (name: string, to: State) => {
    const state =
      to === "stuck"
        ? { waiting: { reason: "CreateContainerConfigError", message: 'configmap "c" not found' } }
        : { running: { startedAt: "2026-01-01T00:00:00Z" } };
    const status = { name: "c", image: "web:1", imageID: "", ready: false, restartCount: 0, state };
    change(name, { ...pods.get(name)?.status, phase: "Pending", containerStatuses: [status] });
  };
  const turnAll = (to: State) => {
    for (let i = 0; i < count; i++) turn(`pod-${i}`, to);
  };
  const client: Partial<Client> = {
    list: async () => ({ items: [...pods.values()], resourceVersion: String(version) }) as never,
    watch: (_, { signal }) => {
      signal?.addEventListener("abort", () => events.end(), { once: true });
      return events as never;
    },
    patch: async (_, { name }, { patch, signal }) => {
      patchTimes.push(clock.now());
      await clock.sleep(50, signal);
      const body = patch.body as { metadata: Pod["metadata"]; status: { conditions: PodCondition[] } };
      const { metadata, status } = pods.get(name) ?? { metadata: {} };
      if (metadata.resourceVersion !== body.metadata.resourceVersion)
        throw conflict({ group: "", plural: "pods" }, name, "changed");
      change(name, { ...status, conditions: body.status.conditions });
      return pods.get(name) as never;
    },
  };
  const withStatus = (wanted: string) =>
    [...pods.values()].filter(({ status }) => status?.conditions?.[0]?.status === wanted).length;
  return { client: client as Client, patchTimes, turn, turnAll, withStatus };
}

test("3815-10 10,000 pods that restart at once cost at most 50 PATCHes a second", async () => {
  const clock = createManualClock(Date.parse("2026-01-01T00:00:00Z"));
  const { client, patchTimes, turnAll, withStatus } = createPods(clock, 10_000);
  turnAll("stuck");
  const stop = new AbortController();
  const metrics = createMetrics();
  const running = runConditionsController({ client, clock, logger: silentLogger, metrics }, stop.signal);
  await clock.advance(100_000);
  // While half of the writes wait, every pod changes again, and each still costs one PATCH.
  const firstHalf = patchTimes.length;
  turnAll("running");
  turnAll("stuck");
  await clock.advance(210_000);
  expect(withStatus("True")).toBe(10_000);
  expect(firstHalf).toBeGreaterThan(4_500);
  // Pods in flight at the change cost a second one.
  expect(patchTimes.length).toBeLessThan(10_020);
  patchTimes.forEach((at, i) => {
    expect((patchTimes[i + 50] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
  });
  expect(metrics.text()).toContain(
    'kindling_pods_failing_to_start{namespace="default",reason="CreateContainerConfigError"} 10000',
  );
  expect(metrics.text()).toContain('kindling_conditions_pods{writer="kindling-conditions"} 10000');
  expect(metrics.text()).toContain('kindling_conditions_patches_total{outcome="written"} 10000');
  stop.abort();
  await running;
}, 60_000);

test("3815-10 a pod whose container is not stuck any more when its turn comes costs no PATCH", async () => {
  const clock = createManualClock(Date.parse("2026-01-01T00:00:00Z"));
  const { client, patchTimes, turnAll, withStatus } = createPods(clock, 100);
  turnAll("stuck");
  const stop = new AbortController();
  const running = runConditionsController({ client, clock, logger: silentLogger }, stop.signal);
  await clock.advance(500);
  turnAll("running");
  await clock.advance(60_000);
  expect(withStatus("True")).toBe(0);
  expect(patchTimes.length).toBeLessThan(70);
  stop.abort();
  await running;
});

test.each<[string, number | undefined, number, number]>([
  ["the first write is allowed at once", undefined, 1_000, 0],
  ["a write right after another waits for the interval", 1_000, 1_000, 20],
  ["part of the interval has passed", 1_000, 1_015, 5],
  ["the interval has passed", 1_000, 1_020, 0],
  ["unused time does not add up", 1_000, 9_000, 0],
  ["the clock was set back", 1_000, 500, 0],
])("%s", (_, lastWriteMs, now, expected) => {
  expect(writeWaitMs(lastWriteMs, now)).toBe(expected);
});

test("3815-10 no second has more than 50 writes, whenever they are requested", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(60), { maxLength: 400 }), (gaps) => {
      const writes: number[] = [];
      let requestedAt = 0;
      for (const gap of gaps) {
        requestedAt += gap;
        const now = Math.max(requestedAt, writes.at(-1) ?? 0);
        writes.push(now + writeWaitMs(writes.at(-1), now));
      }
      writes.forEach((at, i) => {
        expect((writes[i + 50] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
      });
    }),
  );
});
