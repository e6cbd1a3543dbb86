import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { CriClient } from "../../../cri/cri-client.ts";
import { silentLogger } from "../../../lib/logger.ts";
import { createManualClock } from "../../../lib/manual-clock.ts";
import type {
  ContainerState,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../../model/observed-pod.ts";
import { exited, observe, observedContainer, running, sandbox } from "../../status/status.fixture.ts";
import { findDead, planRotation, rotateLog, runHousekeeping } from "./run-housekeeping.ts";

describe("run-housekeeping", () => {
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

  /** Containers of a crash loop, newest first. */
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

  test("removes all but the last exited attempt, with logs and sandboxes", async () => {
    const logs = ["0.log", "0.log.20260101-000000.gz", "1.log", "2.log", "3.log", "10.log"];
    for (const name of logs) await writeFile(join(folder, name), "");
    const { clock, removed, refreshed, stop } = start([crashLoop("a")]);
    await clock.advance(10_000);
    await expect.poll(() => refreshed).toEqual(["a"]);
    expect(removed).toEqual(["a-1", "a-0", "old"]);
    expect((await readdir(folder)).sort()).toEqual(["10.log", "2.log", "3.log"]);
    await stop();
  });

  test("a failing pod does not affect the others", async () => {
    const { clock, refreshed, stop } = start([crashLoop("a"), crashLoop("b")], ["a-1"]);
    await clock.advance(10_000);
    await expect.poll(() => refreshed).toEqual(["b"]);
    await stop();
  });
});

describe("find-dead", () => {
  const running: ContainerState = { kind: "running", startedAtMs: 0 };
  const ended: ContainerState = {
    kind: "exited",
    startedAtMs: 0,
    finishedAtMs: 1,
    exitCode: 1,
    reason: "",
    message: "",
  };

  const container = (id: string, sandboxId: string, state: ContainerState): ObservedContainer => ({
    id,
    name: id.slice(0, 1),
    sandboxId,
    attempt: 0,
    createdAtMs: 0,
    state,
    image: "",
    imageRef: "",
    specHash: "",
    restartDelayMs: 0,
    logPath: "",
  });
  const sandbox = (id: string, ready: boolean): ObservedSandbox => ({
    id,
    attempt: 0,
    ready,
    createdAtMs: 0,
    ips: [],
  });

  test.each([
    { name: "one that runs", containers: [container("a1", "s", running)], dead: [] },
    { name: "the last that ended is kept", containers: [container("a1", "s", ended)], dead: [] },
    {
      name: "of those that ended only the newest is kept",
      containers: [
        container("a3", "s", running),
        container("a2", "s", ended),
        container("a1", "s", ended),
        container("b1", "s", ended),
      ],
      dead: ["a1"],
    },
  ])("$name", ({ containers, dead }) => {
    const found = findDead({ uid: "", namespace: "", name: "", sandboxes: [sandbox("s", true)], containers });
    expect(found.containers.map(({ id }) => id)).toEqual(dead);
    expect(found.sandboxes).toEqual([]);
  });

  test("a sandbox is removed once none of its containers is kept", () => {
    const sandboxes = [sandbox("s3", false), sandbox("s2", false), sandbox("s1", false)];
    const containers = [
      container("a3", "s3", running),
      container("a2", "s2", ended),
      container("a1", "s1", ended),
    ];
    const found = findDead({ uid: "", namespace: "", name: "", sandboxes, containers });
    expect(found.containers.map(({ id }) => id)).toEqual(["a1"]);
    expect(found.sandboxes.map(({ id }) => id)).toEqual(["s1"]);
  });
});

test.each([
  { why: "nothing before", rotated: [], maxFiles: 5, remove: [], compress: [] },
  { why: "the last one is packed", rotated: ["a"], maxFiles: 5, remove: [], compress: ["a"] },
  { why: "packed ones stay so", rotated: ["a.gz", "b"], maxFiles: 5, remove: [], compress: ["b"] },
  {
    why: "the oldest go, to make room for two",
    rotated: ["a.gz", "b.gz", "c.gz", "d"],
    maxFiles: 5,
    remove: ["a.gz"],
    compress: ["d"],
  },
  {
    why: "the fewest that are allowed",
    rotated: ["a.gz", "b"],
    maxFiles: 2,
    remove: ["a.gz", "b"],
    compress: [],
  },
])("$why", ({ rotated, maxFiles, remove, compress }) => {
  expect(planRotation(rotated, maxFiles)).toEqual({ remove, compress });
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-logs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const now = Date.parse("2026-01-02T03:04:05Z");

function rotate(options: { state?: ContainerState; reopen?: () => Promise<object>; maxFiles?: number } = {}) {
  const { reopen = async () => ({}), maxFiles = 3 } = options;
  const { state = { kind: "running", startedAtMs: 0 } } = options;
  const cri = { runtime: { reopenContainerLog: reopen } } as unknown as CriClient;
  const container = { id: "c", logPath: join(folder, "0.log"), state } as ObservedContainer;
  return rotateLog({ cri, maxBytes: 10, maxFiles, now }, container);
}

test("rotates a large log, compresses the previous one and removes the oldest", async () => {
  await writeFile(join(folder, "0.log"), "more than ten bytes");
  await writeFile(join(folder, "0.log.20260101-000000.gz"), "oldest");
  await writeFile(join(folder, "0.log.20260102-000000"), "before");
  await writeFile(join(folder, "0.log.20260102-000000.gz.tmp"), "half packed by a kubelet that was killed");
  await writeFile(join(folder, "1.log"), "another attempt's");
  await rotate({ reopen: () => writeFile(join(folder, "0.log"), "").then(() => ({})) });
  expect((await readdir(folder)).sort()).toEqual([
    "0.log",
    "0.log.20260102-000000.gz",
    "0.log.20260102-030405",
    "1.log",
  ]);
  expect(gunzipSync(await readFile(join(folder, "0.log.20260102-000000.gz"))).toString()).toBe("before");
  expect(await readFile(join(folder, "0.log.20260102-030405"), "utf8")).toBe("more than ten bytes");
});

test("restores the log if the runtime fails to reopen it", async () => {
  await writeFile(join(folder, "0.log"), "more than ten bytes");
  const refused = rotate({ reopen: () => Promise.reject(new Error("no")) });
  await expect(refused).rejects.toThrow("no");
  expect(await readdir(folder)).toEqual(["0.log"]);
});

test.each<[string, string | undefined, ContainerState | undefined]>([
  ["a small log", "small", undefined],
  ["no log at all", undefined, undefined],
  [
    "the log of a container that has ended",
    "more than ten bytes",
    { kind: "exited", startedAtMs: 0, finishedAtMs: 0, exitCode: 0, reason: "", message: "" },
  ],
])("%s is left alone", async (_, content, state) => {
  if (content !== undefined) await writeFile(join(folder, "0.log"), content);
  const reopen = () => Promise.reject(new Error("unexpected call"));
  await rotate({ reopen, ...(state && { state }) });
  expect(await readdir(folder)).toEqual(content === undefined ? [] : ["0.log"]);
});
