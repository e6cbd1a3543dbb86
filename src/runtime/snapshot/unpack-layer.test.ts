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
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TarEntry } from "./tar-header.ts";
import { emptyArchiveEnd, formatBlock, formatHeader, pad } from "./tar-writer.ts";
import { unpackLayer } from "./unpack-layer.ts";

// Making devices, owners and opaque directories takes root, as the runtime has it.
const describeAsRoot = process.getuid?.() === 0 ? describe : describe.skip;
const limits = { maxBytes: 50_000_000, maxEntries: 1_000 };
let folder: string;
let root: string;
let umask: number;

beforeEach(() => {
  umask = process.umask(0);
  folder = mkdtempSync(join(tmpdir(), "kindling-unpack-"));
  mkdirSync(join(folder, "staging"));
  mkdirSync(join(folder, "outside"));
  writeFileSync(join(folder, "outside/secret"), "untouched");
  root = join(folder, "staging/fs");
});
afterEach(() => {
  // Whatever the archive tried: nothing outside the staging directory has changed.
  expect(readdirSync(folder).sort()).toEqual(["blob", "outside", "staging"]);
  expect(readdirSync(join(folder, "outside"))).toEqual(["secret"]);
  expect(readFileSync(join(folder, "outside/secret"), "utf8")).toBe("untouched");
  expect(existsSync("/kindling-escaped")).toBe(false);
  process.umask(umask);
  rmSync(folder, { recursive: true, force: true });
});

type Entry = Partial<TarEntry> & Pick<TarEntry, "name"> & { data?: string };

const file = (name: string, data = "data", rest: Partial<TarEntry> = {}): Entry => ({
  name,
  type: "file",
  data,
  ...rest,
});
const directory = (name: string, rest: Partial<TarEntry> = {}): Entry => ({
  name,
  type: "directory",
  mode: 0o755,
  ...rest,
});
const symlink = (name: string, linkName: string): Entry => ({ name, type: "symlink", linkName });
const hardlink = (name: string, linkName: string): Entry => ({ name, type: "hardlink", linkName });

function archive(entries: readonly Entry[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap(({ data = "", type = "file", ...entry }) => [
      formatHeader({ ...entry, type, size: type === "file" ? data.length : 0 }),
      pad(Buffer.from(data)),
    ]),
    emptyArchiveEnd,
  ]);
}

function unpack(blob: Buffer, overrides: Partial<typeof limits> = {}) {
  writeFileSync(join(folder, "blob"), blob);
  return unpackLayer({
    blob: join(folder, "blob"),
    staging: join(folder, "staging"),
    limits: { ...limits, ...overrides },
  });
}

const read = (path: string) => readFileSync(join(root, path), "utf8");

describeAsRoot("what a layer may say", () => {
  test("files, directories, links, owners, modes and times", async () => {
    const result = await unpack(
      archive([
        directory("usr/", { mode: 0o711, mtimeMs: 1_000_000 }),
        file("usr/su", "elf", { mode: 0o4755, uid: 1, gid: 2, mtimeMs: 2_000_000 }),
        symlink("bin", "usr"),
        hardlink("usr/su2", "usr/su"),
        { name: "pipe", type: "fifo", mode: 0o600 },
        { name: "null", type: "char", mode: 0o666, deviceMajor: 1, deviceMinor: 3 },
      ]),
    );
    expect(result).toMatchObject({ entries: 6, implicit: [], skipped: [] });
    const su = statSync(join(root, "usr/su"));
    expect({
      mode: su.mode & 0o7777,
      uid: su.uid,
      gid: su.gid,
      mtimeMs: su.mtimeMs,
      nlink: su.nlink,
    }).toEqual({
      mode: 0o4755,
      uid: 1,
      gid: 2,
      mtimeMs: 2_000_000,
      nlink: 2,
    });
    expect(statSync(join(root, "usr")).mtimeMs).toBe(1_000_000);
    expect(lstatSync(join(root, "pipe")).isFIFO()).toBe(true);
    expect(lstatSync(join(root, "null")).rdev).toBe(0x103);
  });

  test("long names by pax and by GNU, names that are not UTF-8", async () => {
    const long = `${"d/".repeat(80)}${"n".repeat(150)}`;
    const gnuName = Buffer.from(`gnu-${"g".repeat(200)}`);
    await unpack(
      Buffer.concat([
        archive([file(long), file("latin-\xe9")]).subarray(0, -1_024),
        formatBlock({ name: "././@LongLink", size: gnuName.length }, "L"),
        pad(gnuName),
        formatBlock({ name: "short", size: 0 }, "0"),
        emptyArchiveEnd,
      ]),
    );
    expect(read(long)).toBe("data");
    expect(readdirSync(root)).toContain(gnuName.toString());
    expect(readdirSync(root, "buffer").some((name) => name.includes(0xe9))).toBe(true);
  });

  test("a later entry replaces an earlier one, whatever they are", async () => {
    await unpack(
      archive([
        file("a", "first"),
        file("a", "second"),
        directory("b"),
        file("b/inside"),
        file("b", "now a file"),
        symlink("c", "/nowhere"),
        file("c", "not through the link"),
        file("d"),
        directory("d"),
        file("d/e"),
        symlink("f", "a"),
        symlink("f", "b"),
      ]),
    );
    expect(["a", "b", "c", "d/e"].map(read)).toEqual([
      "second",
      "now a file",
      "not through the link",
      "data",
    ]);
    expect(readlinkSync(join(root, "f"))).toBe("b");
  });

  test("whiteouts and opaque directories become overlayfs's own marks", async () => {
    const result = await unpack(
      archive([
        file("etc/.wh.gone", ""),
        file("etc/.wh.gone2", ""),
        directory("var"),
        file("var/kept"),
        file("var/.wh..wh..opq", ""),
        file("was/.wh.dir", ""),
        directory("was/dir"),
        file("etc/.wh..wh.aufs", ""),
      ]),
    );
    expect(result.whiteouts).toEqual(["etc/gone", "etc/gone2", "was/dir"]);
    expect(result.opaque).toEqual(["var", "was/dir"]);
    const gone = lstatSync(join(root, "etc/gone"));
    expect([gone.isCharacterDevice(), gone.rdev]).toEqual([true, 0]);
    expect(read("var/kept")).toBe("data");
    expect(readdirSync(join(root, "etc")).sort()).toEqual(["gone", "gone2"]);
    expect(seenOverLower(["etc/gone", "etc/stays", "var/hidden", "was/dir/hidden"])).toEqual(["etc/stays"]);
  });

  test("a path through a link of the same layer stays inside, as if the layer were the root", async () => {
    await unpack(
      archive([
        directory("usr"),
        symlink("lib", "/usr"),
        file("lib/x"),
        symlink("up", "../../../../.."),
        file("up/top"),
        symlink("out", join(folder, "outside")),
        file("out/secret", "stays inside"),
      ]),
    );
    expect(read("usr/x")).toBe("data");
    expect(read("top")).toBe("data");
    expect(read(join(folder, "outside/secret").slice(1))).toBe("stays inside");
  });

  test("file capabilities, and no mark of overlayfs's own", async () => {
    const capability = Buffer.from("0100000200040000000000000000000000000000", "hex");
    const xattrs = new Map([
      ["security.capability", capability],
      ["user.note", Buffer.from("hello")],
      ["trusted.overlay.opaque", Buffer.from("y")],
      ["user.overlay.opaque", Buffer.from("y")],
    ]);
    const result = await unpack(
      archive([file("ping", "elf", { mode: 0o755, xattrs }), hardlink("ping6", "ping")]),
    );
    expect(result.skipped).toEqual([]);
    expect([read("ping"), statSync(join(root, "ping")).nlink]).toEqual(["elf", 2]);
    const listed = execFileSync("tar", ["-c", "--xattrs", "--xattrs-include=*", "-C", root, "ping"]).toString(
      "latin1",
    );
    expect(listed).toContain(`SCHILY.xattr.security.capability=${capability.toString("latin1")}`);
    expect(listed).toContain("SCHILY.xattr.user.note=hello");
    expect(listed).not.toContain("overlay.opaque");
  });

  test("directories that are only in paths are told: their modes are those underneath", async () => {
    expect((await unpack(archive([file("a/b/c"), directory("a")]))).implicit).toEqual(["a/b"]);
  });
});

describeAsRoot("what a layer may not say", () => {
  const cases: [string, Buffer | (() => Buffer), string][] = [
    ["a name that climbs", archive([file("../outside/secret")]), "leaves the root"],
    ["a name that climbs in the middle", archive([file("a/../../outside/secret")]), "leaves the root"],
    ["a hard link that climbs", archive([hardlink("x", "../../outside/secret")]), "leaves the root"],
    ["a hard link to an absolute path", archive([hardlink("x", "/etc/passwd")]), "does not have"],
    [
      "a hard link through a link to the outside",
      () => archive([symlink("l", join(folder, "outside")), hardlink("x", "l/secret")]),
      "does not have",
    ],
    ["a hard link to a directory", archive([directory("d"), hardlink("x", "d")]), "does not have"],
    ["links in a circle", archive([symlink("a", "b"), symlink("b", "a"), file("a/x")]), "circle"],
    ["an entry below a file", archive([file("a"), file("a/b")]), "not a directory"],
    ["a file in the place of the root", archive([file("./")]).fill("0", 156, 157), "not known|checksum|root"],
    ["a whiteout of nothing", archive([file("a/.wh.", "")]), "names nothing"],
    ["a whiteout that climbs", archive([file("a/.wh...", "")]), "names nothing"],
    ["a wrong checksum", archive([file("a")]).fill("z", 0, 1), "checksum"],
    ["an entry that is cut", archive([file("a", "x".repeat(2_000))]).subarray(0, 1_000), "cut off"],
    ["a header that is cut", archive([file("a")]).subarray(0, 300), "cut off"],
    ["a huge extended header", formatBlock({ name: "x", size: 2_000_000_000 }, "x"), "extended header of"],
    [
      "a damaged extended header",
      Buffer.concat([formatBlock({ name: "x", size: 5 }, "x"), pad(Buffer.from("99 a="))]),
      "damaged",
    ],
    ["an unknown type", formatBlock({ name: "x" }, "Z"), "not known"],
    ["a name with a NUL byte", paxPath("a\0b"), "NUL"],
    ["a name longer than can be", archive([file("n".repeat(300))]), "cannot be"],
    ["a path longer than can be", archive([file("d/".repeat(3_000))]), "name of"],
    [
      "a damaged gzip stream",
      gzipSync(archive([file("a", "x".repeat(5_000))])).subarray(0, 40),
      "decompressed",
    ],
    [
      "a damaged zstd stream",
      Buffer.concat([Buffer.from("28b52ffd", "hex"), Buffer.alloc(100, 0xff)]),
      "decompressed",
    ],
    ["no archive at all", Buffer.alloc(2_000, "junk"), "checksum"],
    ["an owner that cannot be", archive([file("a", "", { uid: 2 ** 33 })]), "owner"],
  ];
  test.each(cases)("%s", async (_name, blob, why) => {
    const outcome = unpack(typeof blob === "function" ? blob() : blob);
    await expect(outcome).rejects.toMatchObject({
      code: "invalidArchive",
      message: expect.stringMatching(why),
    });
  });

  test("too many entries", async () => {
    const entries = Array.from({ length: 11 }, (_, i) => file(`f${i}`, ""));
    await expect(unpack(archive(entries), { maxEntries: 10 })).rejects.toMatchObject({ code: "tooLarge" });
  });

  test("a bomb", async () => {
    const bomb = gzipSync(archive([file("zeros", "\0".repeat(5_000_000))]));
    expect(bomb.length).toBeLessThan(10_000);
    await expect(unpack(bomb, { maxBytes: 1_000_000 })).rejects.toMatchObject({ code: "tooLarge" });
  });

  test("overlayfs's own mark as a device is left out", async () => {
    const result = await unpack(archive([{ name: "mark", type: "char", deviceMajor: 0, deviceMinor: 0 }]));
    expect(result.skipped).toEqual(["mark"]);
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("files with holes, as tar --sparse writes them", () => {
  test.each(["gnu", "posix"])("in the format %s are refused by name", async (format) => {
    writeFileSync(join(folder, "blob"), "");
    writeFileSync(join(folder, "outside/disk.img"), "");
    truncateSync(join(folder, "outside/disk.img"), 1 << 20);
    const args = ["--sparse", `--format=${format}`, "-C", join(folder, "outside"), "-cf", "-", "disk.img"];
    const blob = execFileSync("tar", args);
    rmSync(join(folder, "outside/disk.img"));
    await expect(unpack(blob)).rejects.toThrow('has a sparse file ("disk.img"); make the layer without');
  });
});

function paxPath(path: string): Buffer {
  const record = Buffer.from(`${` path=${path}\n`.length + 2} path=${path}\n`);
  return Buffer.concat([
    formatBlock({ name: "pax", size: record.length }, "x"),
    pad(record),
    formatBlock({ name: "short" }, "0"),
    emptyArchiveEnd,
  ]);
}

/** Which of the paths, all present in a layer underneath, still show through the unpacked layer. */
function seenOverLower(paths: readonly string[]): string[] {
  const at = (name: string) => join(folder, "staging", name);
  for (const path of paths) {
    mkdirSync(join(at("lower"), path, ".."), { recursive: true });
    writeFileSync(join(at("lower"), path), "");
  }
  mkdirSync(at("merged"));
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${root}:${at("lower")}`, at("merged")]);
  try {
    return paths.filter((path) => existsSync(join(at("merged"), path)));
  } finally {
    execFileSync("umount", [at("merged")]);
  }
}
