import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Pod } from "../../api/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { runStaticPodSource } from "./static-pod-source.ts";

let parent: string;
let directory: string;
let stop: AbortController;
let running: Promise<void> | undefined;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "kindling-static-"));
  directory = join(parent, "manifests");
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
  await rm(parent, { recursive: true, force: true });
});

function start() {
  const clock = createManualClock(0);
  const seen: string[][] = [];
  const names = (pods: ReadonlyMap<string, Pod>) =>
    [...pods.values()].map(({ metadata }) => metadata.name ?? "");
  running = runStaticPodSource(
    {
      directory,
      nodeName: "n",
      clock,
      logger: silentLogger,
      onPods: (pods) => void seen.push(names(pods)),
    },
    stop.signal,
  );
  return { clock, seen, untilSeen: (last: string[]) => expect.poll(() => seen.at(-1)).toEqual(last) };
}

const podFile = (name: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "c", image: "web:1" }] },
  });

test("what is there is read at once, and what changes too", async () => {
  await mkdir(directory);
  await writeFile(join(directory, "b.yaml"), podFile("b"));
  await writeFile(join(directory, "a.yaml"), podFile("a"));
  await writeFile(join(directory, ".hidden.yaml"), podFile("hidden"));
  const { untilSeen } = start();
  await untilSeen(["a-n", "b-n"]);
  await writeFile(join(directory, ".c.yaml"), podFile("c"));
  await rename(join(directory, ".c.yaml"), join(directory, "c.yaml"));
  await untilSeen(["a-n", "b-n", "c-n"]);
  await rm(join(directory, "a.yaml"));
  await untilSeen(["b-n", "c-n"]);
});

test("a file that is no pod, a folder and one that is too large do not keep others from running", async () => {
  await mkdir(join(directory, "folder"), { recursive: true });
  await writeFile(join(directory, "bad.yaml"), "kind: [");
  await writeFile(join(directory, "large.yaml"), Buffer.alloc(11 * 1024 * 1024, " "));
  await writeFile(join(directory, "good.yaml"), podFile("good"));
  await start().untilSeen(["good-n"]);
});

test("a directory that is not there has no pods, and is found when it is made", async () => {
  const { clock, untilSeen } = start();
  await untilSeen([]);
  await mkdir(directory);
  await writeFile(join(directory, "late.yaml"), podFile("late"));
  await expect.poll(() => clock.sleeping()).toBe(1);
  await clock.advance(20_000);
  await untilSeen(["late-n"]);
  // From then on it is watched.
  await writeFile(join(directory, "later.yaml"), podFile("later"));
  await untilSeen(["late-n", "later-n"]);
});

test("one that cannot be read says nothing, so that what runs goes on", async () => {
  await writeFile(directory, "a file in its place");
  const { clock, seen } = start();
  await expect.poll(() => clock.sleeping()).toBe(1);
  expect(seen).toEqual([]);
});
