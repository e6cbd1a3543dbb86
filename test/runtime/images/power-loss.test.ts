import { chmod, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeRegistry, layerOf, startFakeRegistry } from "../../support/registry/fake-registry.ts";
import { openImages, pullAll } from "../../support/registry/images.ts";

// A pull answers before its files are on the disk. What a power cut leaves of them, ext4 and others show as files of
// the right name and no bytes: the next boot must not take them for the image.

const path = process.env.PATH;
let registry: FakeRegistry;
let folder: string;
let dataDir: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-power-"));
  dataDir = join(folder, "data");
  registry = await startFakeRegistry({ layers: [layerOf("a", "first"), layerOf("b", "second")] });
});
afterEach(async () => {
  process.env.PATH = path;
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
});

/** `sync` never runs: the power fails before it. */
async function withoutSync(): Promise<void> {
  await writeFile(join(folder, "sync"), "#!/bin/sh\nexit 1\n");
  await chmod(join(folder, "sync"), 0o755);
  process.env.PATH = `${folder}:${path}`;
}

async function pullInBoot(bootId: string): Promise<void> {
  const { images } = await openImages({ dataDir, bootId });
  await pullAll(images, { reference: registry.reference });
  await images.close();
}

async function filesOf(bootId: string): Promise<Record<string, string> | undefined> {
  const { images } = await openImages({ dataDir, bootId });
  try {
    const [image] = images.list();
    if (!image) return undefined;
    const rootfs = await images.createRootfs({ containerId: "c", image });
    const names = (await readdir(rootfs.path)).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(rootfs.path, name), "utf8")));
    await images.removeRootfs("c");
    return Object.fromEntries(names.map((name, i) => [name, texts[i] ?? ""]));
  } finally {
    await images.close();
  }
}

const whole = { a: "first", b: "second" };
const layerFolders = async () =>
  (await readdir(join(dataDir, "layers"))).map((name) => join(dataDir, "layers", name));

async function emptyAllLayers(): Promise<void> {
  for (const layer of await layerFolders())
    for (const name of await readdir(join(layer, "fs"))) await truncate(join(layer, "fs", name));
}

describe("layers that were not synced", () => {
  beforeEach(async () => {
    await withoutSync();
    await pullInBoot("one");
  });

  test("count as long as the machine runs", async () => {
    expect(await filesOf("one")).toEqual(whole);
  });

  test("are removed with their image at the next boot, and pulled again completely", async () => {
    await emptyAllLayers();
    expect(await filesOf("two")).toBeUndefined();
    expect(await layerFolders()).toEqual([]);
    process.env.PATH = path;
    await pullInBoot("two");
    expect(await filesOf("three")).toEqual(whole);
  });
});

test("layers that were synced are kept over a boot, and not downloaded again", async () => {
  await pullInBoot("one");
  expect(await filesOf("two")).toEqual(whole);
  const blobs = () => registry.requests.filter(({ path }) => path.includes("/blobs/")).length;
  const before = blobs();
  await pullInBoot("two");
  expect(blobs()).toBe(before);
});

test.each(["images", "content/sha256", "layers"])("empty files in %s are pulled again", async (name) => {
  await pullInBoot("one");
  const entries = await readdir(join(dataDir, name));
  const files = name === "layers" ? entries.map((layer) => join(layer, "layer.json")) : entries;
  for (const file of files) await truncate(join(dataDir, name, file));
  await pullInBoot("two");
  expect(await filesOf("two")).toEqual(whole);
});

test("a partial download with the right length and wrong bytes is detected and not resumed again", async () => {
  const [first] = registry.layers;
  if (!first) throw new Error("no layer");
  const { images, remove } = await openImages({ dataDir, bootId: "one" });
  const partial = join(dataDir, "content/partial", first.digest.replace("sha256:", ""));
  await writeFile(partial, Buffer.alloc(first.bytes.length));
  await expect(pullAll(images, { reference: registry.reference })).rejects.toMatchObject({
    code: "digestMismatch",
  });
  expect(await pullAll(images, { reference: registry.reference })).toHaveLength(1);
  await remove();
});
