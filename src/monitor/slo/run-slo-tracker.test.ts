import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { podStart } from "../metrics/pod-start.fixture.ts";
import { alwaysAvailable } from "./always-available.fixture.ts";
import type { Objective } from "./objective.ts";
import { readSavedSlos, runSloTracker } from "./run-slo-tracker.ts";
import { createSloTracker, type SavedSlos } from "./slo-tracker.ts";

const works: Objective = {
  name: "works",
  kind: "success",
  measure: "start",
  deadlineMs: 30_000,
  target: 0.9,
  windowMs: 86_400_000,
  selector: {},
};
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-slos-"));
});
afterEach(() => rm(folder, { recursive: true }));

function start(file: string, saved?: SavedSlos) {
  const clock = createManualClock();
  const starting = () => [podStart()];
  const tracker = createSloTracker({
    objectives: [works],
    clock,
    starting,
    saved,
    ...alwaysAvailable(clock),
  });
  const stop = new AbortController();
  const done = runSloTracker({ tracker, file, clock, logger: silentLogger }, stop.signal);
  const end = async () => {
    stop.abort();
    await done;
  };
  return { clock, tracker, end };
}

test("3085-13: counts overdue starts and keeps the counts across a restart", async () => {
  const file = join(folder, "slos.json");
  const first = start(file);
  await first.clock.advance(50_000);
  expect(first.tracker.views()).toMatchObject([{ good: 0, total: 1 }]);
  await first.end();
  const second = start(file, await readSavedSlos(file, silentLogger));
  await second.clock.advance(50_000);
  expect(second.tracker.views()).toMatchObject([{ good: 0, total: 1 }]);
  await second.end();
  expect(await readdir(folder)).toEqual(["slos.json"]);
});

test("keeps running when the disk is not writable", async () => {
  const running = start(join(folder, "missing/slos.json"));
  // Before the first save, whose I/O the manual clock does not await.
  await running.clock.advance(50_000);
  expect(running.tracker.views()).toMatchObject([{ total: 1 }]);
  await running.end();
});

test.each([
  ["cut off", '{"a": {"window": [[1, [["", {"ba'],
  ["another shape", '{"a": {"window": [[1, [["", {"bad": "1", "total": 1}]]]], "hour": [], "overdue": []}}'],
  ["an invalid key", '{"a": {"window": [[1, [["x", {"bad": 1, "total": 1}]]]], "hour": [], "overdue": []}}'],
  [
    "more bad events than events",
    '{"a": {"window": [[1, [["", {"bad": 2, "total": 1}]]]], "hour": [], "overdue": []}}',
  ],
  ["a list", "[]"],
])("ignores a damaged file: %s", async (_, text) => {
  const file = join(folder, "slos.json");
  await writeFile(file, text);
  expect(await readSavedSlos(file, silentLogger)).toEqual({});
});
