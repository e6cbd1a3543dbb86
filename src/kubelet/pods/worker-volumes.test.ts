import { expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createWorkerVolumes } from "./worker-volumes.ts";

/** Volumes that record which pod is refreshed, and fail on request. */
function setUp() {
  const clock = createManualClock(0);
  const refreshed: string[] = [];
  const state = { pod: makePod(), failure: undefined as Error | undefined };
  const volumes = createWorkerVolumes({
    clock,
    logger: silentLogger,
    volumes: {
      setUp: async () => new Map(),
      async refresh({ metadata }: Pod) {
        refreshed.push(`${clock.now()} ${metadata.labels?.app ?? ""}`.trim());
        if (state.failure) throw state.failure;
      },
    },
  });
  const stop = new AbortController();
  const running = volumes.run(() => state.pod, stop.signal);
  return {
    clock,
    refreshed,
    state,
    volumes,
    async stop() {
      stop.abort();
      await running;
    },
  };
}

test("updates mounted volumes only after a change", async () => {
  const { clock, refreshed, volumes, stop } = setUp();
  volumes.changed();
  await clock.advance(600_000);
  expect(refreshed).toEqual(["0"]);
  volumes.changed();
  volumes.changed();
  await clock.advance(600_000);
  expect(refreshed).toEqual(["0", "600000"]);
  await stop();
});

test("retries a failed update with back-off, and immediately after a change", async () => {
  const { clock, refreshed, state, volumes, stop } = setUp();
  state.failure = new Error("no space left on device");
  volumes.changed();
  await clock.advance(4_000);
  expect(refreshed).toEqual(["0", "500", "1500", "3500"]);
  volumes.changed();
  await clock.advance(0);
  expect(refreshed.at(-1)).toBe("4000");
  state.failure = undefined;
  await clock.advance(600_000);
  const settled = refreshed.length;
  await clock.advance(600_000);
  expect(refreshed).toHaveLength(settled);
  await stop();
});

test("updates volumes after a change of labels or annotations only", async () => {
  const { clock, refreshed, state, volumes, stop } = setUp();
  await clock.advance(0);
  const before = state.pod;
  volumes.follow(before, { ...before, status: { phase: "Running" } });
  await clock.advance(0);
  expect(refreshed).toEqual([]);
  state.pod = makePod({}, { labels: { app: "renamed" } });
  volumes.follow(before, state.pod);
  await clock.advance(0);
  expect(refreshed).toEqual(["0 renamed"]);
  await stop();
});
