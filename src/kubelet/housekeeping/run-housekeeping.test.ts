import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CriClient } from "../../cri/cri-client.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import type { ObservedPod } from "../observed-pod.ts";
import { exited, observe, observedContainer, running, sandbox } from "../status/status.fixture.ts";
import { runHousekeeping } from "./run-housekeeping.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-housekeeping-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function start(pods: readonly ObservedPod[], refused: readonly string[] = []) {
  const clock = createManualClock();
  const removed: string[] = [];
  const refreshed: string[] = [];
  const remove = async (id: string) => {
    if (refused.includes(id)) throw new Error(`${id} is busy`);
    removed.push(id);
    return {};
  };
  const cri = {
    runtime: {
      removeContainer: ({ containerId }: { containerId: string }) => remove(containerId),
      removePodSandbox: ({ podSandboxId }: { podSandboxId: string }) => remove(podSandboxId),
    },
  } as unknown as CriClient;
  const stop = new AbortController();
  const done = runHousekeeping(
    {
      cri,
      clock,
      logger: silentLogger,
      observer: {
        list: () => pods,
        refresh: async (uid) => {
          refreshed.push(uid);
          return undefined;
        },
      },
      containerLogMaxSizeBytes: 1_000,
      containerLogMaxFiles: 5,
    },
    stop.signal,
  );
  return {
    clock,
    removed,
    refreshed,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

/** As a crash loop leaves a pod: the newest first. */
const crashLoop = (uid: string): ObservedPod => ({
  ...observe(
    [3, 2, 1, 0].map((attempt) =>
      observedContainer("web", attempt === 3 ? running : exited(1), {
        attempt,
        id: `${uid}-${attempt}`,
        logPath: join(folder, `${attempt}.log`),
        sandboxId: attempt === 0 ? "old" : "sandbox-1",
      }),
    ),
    [sandbox({ attempt: 1 }), sandbox({ id: "old", ready: false })],
  ),
  uid,
});

test("attempts before the last that ended go, with their logs and the sandbox they were in", async () => {
  const logs = ["0.log", "0.log.20260101-000000.gz", "1.log", "2.log", "3.log", "10.log"];
  for (const name of logs) await writeFile(join(folder, name), "");
  const { clock, removed, refreshed, stop } = start([crashLoop("a")]);
  await clock.advance(10_000);
  await expect.poll(() => refreshed).toEqual(["a"]);
  expect(removed).toEqual(["a-1", "a-0", "old"]);
  expect((await readdir(folder)).sort()).toEqual(["10.log", "2.log", "3.log"]);
  await stop();
});

test("a pod that cannot be tidied up keeps none of the others from it", async () => {
  const { clock, refreshed, stop } = start([crashLoop("a"), crashLoop("b")], ["a-1"]);
  await clock.advance(10_000);
  await expect.poll(() => refreshed).toEqual(["b"]);
  await stop();
});
