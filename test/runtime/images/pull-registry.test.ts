import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeLayout } from "../../../src/runtime/images/build-image.ts";
import { describeWithTool, toolPath } from "../../support/programs/tools.ts";
import { type ImagesFixture, openImages, pullAll } from "../../support/registry/images.ts";
import { type Registry, startRegistry } from "../../support/registry/registry.ts";

describeWithTool("docker-registry", "a real registry", () => {
  let registry: Registry;
  let fixture: ImagesFixture;
  let work: string;

  beforeAll(async () => {
    registry = await startRegistry();
    fixture = await openImages();
    work = mkdtempSync(join(tmpdir(), "kindling-pull-"));
    const tree = join(work, "tree");
    mkdirSync(join(tree, "bin"), { recursive: true });
    mkdirSync(join(tree, "etc"));
    writeFileSync(join(tree, "bin/app"), "#!/bin/sh\necho hi\n", { mode: 0o755 });
    writeFileSync(join(tree, "etc/conf"), "x=1\n");
    await writeLayout(join(work, "oci"), { directory: tree, tag: "t", entrypoint: ["/bin/app"] });
    await registry.push(`oci:${work}/oci`, "app:v1");
    await registry.push(`oci:${work}/oci`, "app:gzip", ["--dest-compress-format", "gzip", "--dest-compress"]);
    await registry.push(`oci:${work}/oci`, "app:zstd", ["--dest-compress-format", "zstd", "--dest-compress"]);
    await registry.push(`oci:${work}/oci`, "app:docker", ["--format", "v2s2"]);
    execFileSync(toolPath("umoci"), ["init", "--layout", join(work, "umoci")]);
    execFileSync(toolPath("umoci"), ["new", "--image", `${work}/umoci:one`]);
    execFileSync(toolPath("umoci"), ["insert", "--image", `${work}/umoci:one`, tree, "/data"]);
    execFileSync(toolPath("umoci"), [
      "insert",
      "--image",
      `${work}/umoci:one`,
      "--opaque",
      join(tree, "etc"),
      "/data/bin",
    ]);
    execFileSync(toolPath("umoci"), [
      "insert",
      "--image",
      `${work}/umoci:one`,
      "--whiteout",
      "/data/etc/conf",
    ]);
    await registry.push(`oci:${work}/umoci:one`, "umoci:one");
  });
  afterAll(async () => {
    await fixture.remove();
    await registry.stop();
    rmSync(work, { recursive: true, force: true });
  });

  test.each(["v1", "gzip", "zstd", "docker"])("pulls, unpacks and mounts app:%s", async (tag) => {
    const { images, remove } = await openImages();
    const reports = await pullAll(images, { reference: `${registry.host}/app:${tag}` });
    const done = reports.at(-1);
    expect(done).toMatchObject({ kind: "done", layers: [{ stage: "done" }] });
    expect(done?.offset).toBe(done?.total);
    const image = images.find(`${registry.host}/app:${tag}`);
    expect(image?.config.entrypoint).toEqual(["/bin/app"]);
    if (!image) throw new Error("not there");
    const rootfs = await images.createRootfs({ containerId: "c1", image });
    expect(readFileSync(join(rootfs.path, "etc/conf"), "utf8")).toBe("x=1\n");
    expect(statSync(join(rootfs.path, "bin/app")).mode & 0o7777).toBe(0o755);
    await images.removeRootfs("c1");
    await remove();
  });

  test("umoci's whiteouts and opaque directories hide files of lower layers", async () => {
    const { images } = fixture;
    await pullAll(images, { reference: `${registry.host}/umoci:one` });
    const image = images.find(`${registry.host}/umoci:one`);
    if (!image) throw new Error("not there");
    const { path } = await images.createRootfs({ containerId: "c2", image });
    try {
      expect(readdirSync(join(path, "data/etc"))).toEqual([]);
      expect(readdirSync(join(path, "data/bin"))).toEqual(["conf"]);
    } finally {
      await images.removeRootfs("c2");
    }
  });
});
