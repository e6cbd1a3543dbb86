import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMountInfo } from "../../lib/mount-points.ts";
import { openLayerStore } from "./layer-store.ts";
import { canMountOverlay } from "./probe-overlay.ts";
import { openRootfsStore } from "./rootfs-store.ts";
import { describeAsRoot } from "./unpack-layer.fixture.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kindling-rootfs-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describeAsRoot("a data directory that is a link", () => {
  test("a container's root is mounted once and goes with the container", async () => {
    mkdirSync(join(home, "disk"));
    symlinkSync(join(home, "disk"), join(home, "data"));
    const dataDir = join(home, "data");
    const layers = await openLayerStore({ dataDir, bootId: "boot" });
    const staging = await layers.stage();
    mkdirSync(join(staging, "fs"));
    writeFileSync(join(staging, "fs/file"), "of the image");
    const nothing = { whiteouts: [], opaque: [], implicit: [], skipped: [] };
    const layer = await layers.commit(staging, { diffId: "sha256:a", bytes: 0, entries: 1, ...nothing }, 0);
    const mode = (await canMountOverlay(dataDir)) ? "overlay" : "copy";
    const mounts = async () => (await readMountInfo()).split("\n").filter((line) => line.includes(home));

    const rootfs = await openRootfsStore({ dataDir, layers, mode });
    const image = { id: "image", layers: [layer] };
    const { path } = await rootfs.create("one", image);
    expect((await rootfs.create("one", image)).path).toBe(path);
    expect(await mounts()).toHaveLength(mode === "overlay" ? 1 : 0);
    expect(readFileSync(join(path, "file"), "utf8")).toBe("of the image");
    await rootfs.remove("one");
    expect(await mounts()).toEqual([]);
    expect(existsSync(path)).toBe(false);
  });
});
