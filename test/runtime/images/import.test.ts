import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import { emptyArchiveEnd, formatHeader } from "../../../src/runtime/snapshots/tar-writer.ts";
import { describeWithTool, toolPath } from "../../support/programs/tools.ts";
import { unpackProgram } from "../../support/programs/unpack-program.ts";
import { layerOf, startFakeRegistry } from "../../support/registry/fake-registry.ts";
import { type ImagesFixture, openImages, pullAll } from "../../support/registry/images.ts";

let work: string;
let fixture: ImagesFixture;

beforeEach(async () => {
  work = mkdtempSync(join(tmpdir(), "kindling-import-"));
  fixture = await openImages();
});
afterEach(async () => {
  await fixture.remove();
  rmSync(work, { recursive: true, force: true });
});

function makeTree(): string {
  const tree = join(work, "tree");
  mkdirSync(join(tree, "bin"), { recursive: true });
  writeFileSync(join(tree, "bin/app"), "app");
  chmodSync(join(tree, "bin/app"), 0o4755);
  symlinkSync("bin/app", join(tree, "run"));
  return tree;
}

test("builds an image from a directory and mounts it", async () => {
  const { images } = fixture;
  const image = await images.buildFromDirectory({
    directory: makeTree(),
    tag: "localhost/app:v1",
    entrypoint: ["/bin/app"],
    env: ["A=b"],
    labels: { made: "here" },
  });
  expect(image).toMatchObject({
    repoTags: ["localhost/app:v1"],
    config: { entrypoint: ["/bin/app"], env: ["A=b"], labels: { made: "here" } },
  });
  const { path } = await images.createRootfs({ containerId: "c", image });
  expect(statSync(join(path, "bin/app")).mode & 0o7777).toBe(0o4755);
  expect(readFileSync(join(path, "run"), "utf8")).toBe("app");
  await images.removeRootfs("c");
  expect((await images.usage()).usedBytes).toBeGreaterThan(0);
  // The same directory again is the same image.
  const again = await images.buildFromDirectory({
    directory: join(work, "tree"),
    tag: "localhost/app:v2",
    entrypoint: ["/bin/app"],
    env: ["A=b"],
    labels: { made: "here" },
  });
  expect(again.id).toBe(image.id);
  expect(again.repoTags).toEqual(["localhost/app:v1", "localhost/app:v2"]);
});

test("a tag that is rebuilt moves, and removing the last image leaves nothing", async () => {
  const { images, dataDir } = fixture;
  const first = await images.buildFromDirectory({ directory: makeTree(), tag: "localhost/app" });
  writeFileSync(join(work, "tree/more"), "x");
  const second = await images.buildFromDirectory({ directory: join(work, "tree"), tag: "localhost/app" });
  expect(images.find("localhost/app")?.id).toBe(second.id);
  expect(images.find(first.id)?.repoTags).toEqual([]);
  for (const { id } of [first, second]) await images.remove(id);
  expect(images.list()).toEqual([]);
  expect(readdirSync(join(dataDir, "layers"))).toEqual([]);
  expect(readdirSync(join(dataDir, "content/sha256"))).toEqual([]);
});

test("without overlayfs, layers are copied with whiteouts, opaque directories and replaced files applied", async () => {
  const copying = await openImages({ rootfsMode: "copy" });
  const layer = (...entries: [string, string?][]) =>
    Buffer.concat([
      ...entries.map(([name, linkName]) =>
        formatHeader(
          linkName
            ? { name, type: "symlink", linkName }
            : { name, type: name.endsWith("/") ? "directory" : "file", mode: 0o755 },
        ),
      ),
      emptyArchiveEnd,
    ]);
  const registry = await startFakeRegistry({
    layers: [
      layer(["a/"], ["a/gone"], ["a/kept"], ["o/"], ["o/hidden"], ["was-link", "/a"]),
      layer(["a/.wh.gone"], ["o/.wh..wh..opq"], ["o/new"], ["was-link"]),
    ],
  });
  try {
    await pullAll(copying.images, { reference: registry.reference });
    const [image] = copying.images.list();
    if (!image) throw new Error("not there");
    const { path } = await copying.images.createRootfs({ containerId: "c", image });
    expect(readdirSync(join(path, "a"))).toEqual(["kept"]);
    expect(readdirSync(join(path, "o"))).toEqual(["new"]);
    expect(statSync(join(path, "was-link")).isFile()).toBe(true);
    await copying.images.removeRootfs("c");
  } finally {
    await registry.stop();
    await copying.remove();
  }
});

test("3542-4 unpacking that takes longer than the timeout is not a stall", async () => {
  const clock = createManualClock();
  const dataDir = join(work, "data");
  const staging = join(dataDir, "staging");
  const held = await makeHeldProgram(join(staging, "go"));
  const { images, remove } = await openImages({ dataDir, clock, unpackProgram: held });
  const registry = await startFakeRegistry({ layers: [layerOf("x", "y")] });
  try {
    const pulled = pullAll(images, {
      reference: registry.reference,
      noProgressTimeoutMs: 250,
      granularity: { kind: "time", intervalMs: 50 },
    });
    pulled.catch(() => {});
    await expect.poll(() => readdirSync(staging)).toHaveLength(1);
    await clock.advance(10_000);
    writeFileSync(join(staging, "go"), "");
    const reports = await pulled;
    const unpacking = reports.filter(({ layers }) => layers[0]?.stage === "unpacking");
    expect(unpacking.length * 50).toBeGreaterThan(250);
    expect(reports.at(-1)?.kind).toBe("done");
  } finally {
    await registry.stop();
    await remove();
  }
});

/** The unpack process, which begins on no layer before the file is there. */
async function makeHeldProgram(file: string): Promise<string> {
  const hold = `
    import { existsSync } from "node:fs";
    const on = process.on.bind(process);
    process.on = (event, listener) => on(event, event !== "message" ? listener : (message) => {
      const wait = () => (existsSync(${JSON.stringify(file)}) ? listener(message) : setTimeout(wait, 20));
      if (message.kind === "unpack") wait();
      else listener(message);
    });`;
  const folder = join(work, "program");
  mkdirSync(folder);
  const program = join(folder, "held.mjs");
  writeFileSync(program, `${hold}\n${readFileSync(await unpackProgram(), "utf8")}`);
  return program;
}

describe("refuses", () => {
  test.each([
    ["neither layout", {}, "neither a docker-archive"],
    [
      "a configuration outside",
      { "manifest.json": '[{"Config":"../../etc/passwd","Layers":[]}]' },
      "lacks|outside",
    ],
    ["a manifest that is not JSON", { "manifest.json": "{" }, "not JSON"],
  ])("an archive with %s", async (_name, files, why) => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text);
    await expect(fixture.images.importArchive(work)).rejects.toMatchObject({
      code: "invalidArchive",
      message: expect.stringMatching(why),
    });
  });
});

describeWithTool("skopeo", "archives of other tools", () => {
  test.each(["docker-archive", "oci-archive", "dir of oci"])("%s", async (kind) => {
    const { images } = fixture;
    execFileSync(toolPath("umoci"), ["init", "--layout", join(work, "l")]);
    execFileSync(toolPath("umoci"), ["new", "--image", `${work}/l:one`]);
    execFileSync(toolPath("umoci"), ["insert", "--image", `${work}/l:one`, makeTree(), "/data"]);
    const target =
      kind === "docker-archive"
        ? `docker-archive:${work}/a.tar:example.com/app:v1`
        : kind === "oci-archive"
          ? `oci-archive:${work}/a.tar:example.com/app:v1`
          : `oci:${work}/a.tar:example.com/app:v1`;
    execFileSync(toolPath("skopeo"), ["copy", "--insecure-policy", `oci:${work}/l:one`, target]);
    const [image] = await images.importArchive(join(work, "a.tar"));
    expect(image?.repoTags).toEqual(["example.com/app:v1"]);
    if (!image) throw new Error("not there");
    const { path } = await images.createRootfs({ containerId: "c", image });
    expect(readFileSync(join(path, "data/bin/app"), "utf8")).toBe("app");
    await images.removeRootfs("c");
  });
});
