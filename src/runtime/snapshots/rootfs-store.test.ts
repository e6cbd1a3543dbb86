import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMountInfo } from "../../lib/fs/mount-points.ts";
import { diskUsage } from "../images/images.ts";
import { type LayerStore, openLayerStore } from "./layer-store.ts";
import { canMountOverlay, openRootfsStore, type RootfsMode } from "./rootfs-store.ts";
import { packDirectory } from "./tar-writer.ts";
import { archive, describeAsRoot, directory, file, hardlink, symlink } from "./unpack-layer.fixture.ts";
import { unpackLayer } from "./unpack-layer.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "kindling-rootfs-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

describeAsRoot("a data directory that is a link", () => {
  test("a container's root is mounted once and removed with the container", async () => {
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

/** cap_net_bind_service, permitted and effective. */
const bindService = Buffer.from("0100000200040000000000000000000000000000", "hex");
const xattrs = new Map([["security.capability", bindService]]);

let dataDir: string;
let layers: LayerStore;
let umask: number;
beforeEach(async () => {
  umask = process.umask(0);
  dataDir = mkdtempSync(join(tmpdir(), "kindling-copy-"));
  layers = await openLayerStore({ dataDir, bootId: "boot" });
});
afterEach(() => {
  process.umask(umask);
  rmSync(dataDir, { recursive: true, force: true });
});

/** Creates the root file system of a container whose image has these layers and passes it to `use`. */
async function withRoot<T>(
  mode: RootfsMode,
  archives: readonly Buffer[],
  use: (root: string) => T | Promise<T>,
  containerId = "one",
): Promise<T> {
  const unpacked = [];
  for (const bytes of archives) {
    const [staging, blob] = [await layers.stage(), join(dataDir, "blob")];
    writeFileSync(blob, bytes);
    const limits = { maxBytes: 50_000_000, maxEntries: 1_000 };
    const result = await unpackLayer({ blob, name: "layer", staging, limits });
    unpacked.push(await layers.commit(staging, result, 0));
  }
  const rootfs = await openRootfsStore({ dataDir, layers, mode });
  try {
    return await use((await rootfs.create(containerId, { id: "image", layers: unpacked })).path);
  } finally {
    await rootfs.remove(containerId);
  }
}

/** One line for each entry with type, owner and content. Names have one character per byte. */
function describeTree(root: string, below = ""): string[] {
  const at = (path: string) => Buffer.from(`${Buffer.from(root).toString("latin1")}/${path}`, "latin1");
  return (
    readdirSync(at(below), "latin1")
      .sort()
      .map((name) => (below === "" ? name : `${below}/${name}`))
      // overlayfs lists a whiteout marker, as a name without a file, in a directory that no other layer has.
      .filter((path) => lstatSync(at(path), { throwIfNoEntry: false }))
      .flatMap((path) => {
        const { mode, uid, gid, mtimeMs, nlink, ...found } = describeEntry(at(path));
        const links = found.isDirectory ? "" : nlink;
        const line = [path, mode.toString(8), uid, gid, mtimeMs, links, found.content].join(" ");
        return [line, ...(found.isDirectory ? describeTree(root, path) : [])];
      })
  );
}

function describeEntry(path: Buffer) {
  const stats = lstatSync(path);
  const content = stats.isSymbolicLink()
    ? readlinkSync(path, "latin1")
    : stats.isFile()
      ? readFileSync(path, "latin1")
      : "";
  return { ...stats, isDirectory: stats.isDirectory(), content };
}

const long = `d\xe9/${"\xff".repeat(200)}`;
const image = [
  archive([
    ...[directory("d\xe9"), file("d\xe9/f\xff", "first"), file("d\xe9/gone\xff"), file("kept", "k")],
    hardlink("h\xfc", "d\xe9/f\xff"),
    symlink("l\xfe", "d\xe9/t\xfd"),
    { name: "p\xfb", type: "fifo", mode: 0o600, uid: 3 },
    file(long, "elf", { mode: 0o4755, uid: 7, gid: 8, mtimeMs: 2_000_000, xattrs }),
    ...[directory("o\xe9"), file("o\xe9/hidden\xff"), directory("o\xe9/sub\xff"), file("o\xe9/sub\xff/x")],
    ...[
      directory("was-dir\xff"),
      file("was-dir\xff/in\xff"),
      file("was-file\xff"),
      symlink("was-link\xff", "d\xe9"),
    ],
  ]),
  archive([
    ...[
      directory("d\xe9", { mtimeMs: 1_000_000 }),
      file("d\xe9/.wh.gone\xff", ""),
      file("d\xe9/new\xff", "n"),
    ],
    ...[directory("o\xe9"), file("o\xe9/.wh..wh..opq", ""), file("o\xe9/shown\xff")],
    ...[
      file("was-dir\xff", "now a file"),
      directory("was-file\xff"),
      file("was-file\xff/in\xff"),
      file("was-file\xff/.wh.b", ""),
    ],
    ...[
      directory("was-link\xff"),
      file("was-link\xff/in\xff", "not through the link"),
      file("was-link\xff/.wh.f\xff", ""),
    ],
  ]),
];
const expected = [
  expect.stringMatching(/^d\xe9 40755 0 0 1000000 /),
  expect.stringMatching(/^d\xe9\/f\xff 100644 0 0 0 2 first$/),
  expect.stringMatching(/^d\xe9\/new\xff .* n$/),
  expect.stringMatching(/^h\xfc 100644 0 0 0 2 first$/),
  expect.stringMatching(/^kept .* k$/),
  expect.stringMatching(/^l\xfe 120777 .* d\xe9\/t\xfd$/),
  expect.stringMatching(/^o\xe9\/shown\xff .* data$/),
  expect.stringMatching(/^p\xfb 10600 3 /),
  expect.stringMatching(/^was-dir\xff .* now a file$/),
  expect.stringMatching(/^was-file\xff\/in\xff .* data$/),
  expect.stringMatching(/^was-link\xff\/in\xff .* not through the link$/),
  expect.stringMatching(/^d\xe9\/\xff{200} 104755 7 8 2000000 1 elf$/),
];

describeAsRoot("the probe for overlayfs", () => {
  test("removes a probe that was killed, mounted or not", async () => {
    const mounted = join(dataDir, "probe-1");
    for (const name of ["probe-1/m", "probe-2/l"]) mkdirSync(join(dataDir, name), { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(mounted, "m")]);
    await canMountOverlay(dataDir);
    expect(readdirSync(dataDir).filter((name) => name.startsWith("probe-"))).toEqual([]);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(mounted);
  });
});

describeAsRoot("a root without overlayfs", () => {
  test("has names, links and whiteouts of any bytes, like one with overlayfs", async () => {
    const copied = await withRoot("copy", image, (root) => describeTree(root));
    expect(copied).toEqual(expect.arrayContaining(expected));
    expect(copied.filter((line) => /gone|hidden|sub/.test(line))).toEqual([]);
    if (await canMountOverlay(dataDir))
      expect(await withRoot("overlay", image, (root) => describeTree(root))).toEqual(copied);
  });

  test("can be packed, measured and removed with names of any bytes", async () => {
    await withRoot("copy", image, async (root) => {
      // The root itself and its entries, two of which are hard links to one file.
      expect((await diskUsage(root)).inodesUsed).toBe(1 + describeTree(root).length - 1);
      const parts: Buffer[] = [];
      for await (const part of packDirectory(root)) parts.push(part);
      const regular = (tree: string[]) =>
        tree.filter((line) => !line.startsWith("p\xfb")).map((line) => line.replace(/ 2 first$/, " 1 first"));
      const again = await withRoot("copy", [Buffer.concat(parts)], (packed) => describeTree(packed), "two");
      expect(again).toEqual(regular(describeTree(root)));
    });
    expect(readdirSync(join(dataDir, "rootfs"))).toEqual([]);
  });

  test("keeps file capabilities and hard links", async () => {
    const named = "caf\xc3\xa9/server";
    const server = file(named, "elf", { mode: 0o755, uid: 7, gid: 8, xattrs });
    const inside = [server, hardlink("alias", named), file("plain")];
    await withRoot("copy", [archive(inside)], (root) => {
      const copied = join(root, "café/server");
      expect(readFileSync(copied, "utf8")).toBe("elf");
      expect(statSync(copied)).toMatchObject({ mode: 0o100755, uid: 7, gid: 8, nlink: 2 });
      for (const name of ["café/server", "alias", "plain"])
        expect([name, capabilityOf(root, name)]).toEqual([name, name !== "plain"]);
    });
  });

  test("never writes through a link of a layer below", async () => {
    mkdirSync(join(dataDir, "outside"));
    writeFileSync(join(dataDir, "outside/secret"), "untouched");
    const links = [
      symlink("dir", join(dataDir, "outside")),
      symlink("file", join(dataDir, "outside/secret")),
    ];
    const over = [file("dir/secret", "inside"), file("file", "inside")];
    await withRoot("copy", [archive(links), archive(over)], (root) => {
      expect(readFileSync(join(root, "dir/secret"), "utf8")).toBe("inside");
      expect(readFileSync(join(root, "file"), "utf8")).toBe("inside");
    });
    expect(readFileSync(join(dataDir, "outside/secret"), "utf8")).toBe("untouched");
  });
});

function capabilityOf(root: string, name: string): boolean {
  const packed = execFileSync("tar", ["--xattrs", "--xattrs-include=*", "-C", root, "-cf", "-", name]);
  return packed.toString("latin1").includes(`security.capability=${bindService.toString("latin1")}`);
}
