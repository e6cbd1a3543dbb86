import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rounds } from "../../support/fuzz/rounds.ts";
import { bundle } from "../../support/programs/bundle.ts";
import { unpackProgram } from "../../support/programs/unpack-program.ts";
import {
  digestOf,
  type FakeRegistry,
  layerOf,
  startFakeRegistry,
} from "../../support/registry/fake-registry.ts";
import { openImages, pullAll } from "../../support/registry/images.ts";

const layers = ["a", "b", "c"].map((name) => layerOf(name, randomBytes(1_000_000)));
let registry: FakeRegistry;
let dataDir: string;
let child: ChildProcess | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-crash-"));
  registry = await startFakeRegistry({
    layers,
    handle: async (request, response) => {
      const layer = layers.find((bytes) => request.url?.endsWith(digestOf(bytes)));
      if (!layer || request.headers.range) return false;
      response.writeHead(200, { "content-length": layer.length });
      response.write(layer.subarray(0, 500_000));
      await delay(200);
      response.end(layer.subarray(500_000));
      return true;
    },
  });
});
afterEach(async () => {
  child?.kill("SIGKILL");
  await registry.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Runs the puller until it prints the word, then for a delay, and kills it. */
async function killAfter(word: string, ms: number): Promise<void> {
  const started = spawn(
    process.execPath,
    [await bundle("test/runtime/images/crash-puller.ts"), dataDir, await unpackProgram(), registry.reference],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  child = started;
  let output = "";
  started.stdout.on("data", (text) => {
    output += text;
  });
  await expect.poll(() => output).toContain(word);
  await delay(ms);
  const ended = new Promise((resolve) => started.once("exit", resolve));
  started.kill("SIGKILL");
  await ended;
}

/** Delays before the kill: over the whole of a pull, in more steps with more rounds. */
const delaysMs = Array.from({ length: 2 + rounds(1) }, (_, i) => Math.round((300 * i) / (1 + rounds(1))));

test.each(delaysMs)(
  "killed %d ms into a pull: the next run finds nothing half-made and pulls to the end",
  async (ms) => {
    await killAfter("ready", ms);
    const { images, remove } = await openImages({ dataDir });
    // A fast pull has mounted its root file system before the kill. A daemon releases those without a container.
    for (const id of images.rootfsOwners()) await images.removeRootfs(id);
    expect(await readdir(join(dataDir, "staging"))).toEqual([]);
    expect(await readdir(join(dataDir, "rootfs"))).toEqual([]);
    const reports = await pullAll(images, { reference: registry.reference });
    expect(reports.at(-1)).toMatchObject({ kind: "done" });
    const [image] = images.list();
    if (!image) throw new Error("not there");
    const { path } = await images.createRootfs({ containerId: "c", image });
    expect((await readdir(path)).sort()).toEqual(["a", "b", "c"]);
    await images.removeRootfs("c");
    expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(dataDir);
    await remove();
  },
);

test("a root file system outlives the daemon, and the next one releases it", async () => {
  await killAfter("mounted", 0);
  const merged = join(dataDir, "rootfs/crashed/merged");
  await writeFile(join(merged, "written"), "by the container");
  const { images, remove } = await openImages({ dataDir });
  try {
    expect(await readFile(join(merged, "written"), "utf8")).toBe("by the container");
    const [image] = images.list();
    if (!image) throw new Error("not there");
    expect(await images.createRootfs({ containerId: "crashed", image })).toEqual({ path: merged });
    await expect(images.remove(image.id)).rejects.toMatchObject({ code: "inUse" });
  } finally {
    await images.removeRootfs("crashed");
  }
  expect(await readFile("/proc/self/mountinfo", "utf8")).not.toContain(dataDir);
  const [image] = images.list();
  await images.remove(image?.id ?? "");
  expect(images.list()).toEqual([]);
  expect(await readdir(join(dataDir, "layers"))).toEqual([]);
  await remove();
});
