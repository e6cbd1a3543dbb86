import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { emptyArchiveEnd, formatBlock, pad } from "./tar-writer.ts";
import {
  archive,
  describeAsRoot,
  directory,
  file,
  hardlink,
  symlink,
  unpackingPlace,
} from "./unpack-layer.fixture.ts";

const { unpack, outside, at } = unpackingPlace();

describeAsRoot("rejected layers", () => {
  const cases: [string, Buffer | (() => Buffer), string][] = [
    ["a name that climbs", archive([file("../outside/secret")]), "leaves the root"],
    ["a name that climbs in the middle", archive([file("a/../../outside/secret")]), "leaves the root"],
    ["a hard link that climbs", archive([hardlink("x", "../../outside/secret")]), "leaves the root"],
    ["a hard link to an absolute path", archive([hardlink("x", "/etc/passwd")]), "does not have"],
    [
      "a hard link through a link to the outside",
      () => archive([symlink("l", outside()), hardlink("x", "l/secret")]),
      "does not have",
    ],
    ["a hard link to a directory", archive([directory("d"), hardlink("x", "d")]), "does not have"],
    ["links in a circle", archive([symlink("a", "b"), symlink("b", "a"), file("a/x")]), "circle"],
    ["an entry below a file", archive([file("a"), file("a/b")]), "not a directory"],
    ["a file in the place of the root", archive([file(".")]), "in the place of its root"],
    ["a whiteout of nothing", archive([file("a/.wh.", "")]), "names nothing"],
    ["a whiteout that climbs", archive([file("a/.wh...", "")]), "names nothing"],
    ["a wrong checksum", archive([file("a")]).fill("z", 0, 1), "checksum"],
    ["an entry that is cut", archive([file("a", "x".repeat(2_000))]).subarray(0, 1_000), "cut off"],
    ["a header that is cut", archive([file("a")]).subarray(0, 300), "cut off"],
    ["an extended header that is cut", extended("x", " path=a\n").subarray(0, 515), "cut off"],
    ["an end that is cut", archive([file("a")]).subarray(0, -1), "cut off"],
    [
      "entries behind an empty block",
      Buffer.concat([archive([file("a")]).subarray(0, -512), archive([file("b")])]),
      "layer sha256:abc: the archive goes on behind an empty block",
    ],
    ["a huge extended header", formatBlock({ name: "x", size: 2_000_000_000 }, "x"), "extended header of"],
    [
      "a damaged extended header",
      Buffer.concat([formatBlock({ name: "x", size: 5 }, "x"), pad(Buffer.from("99 a="))]),
      "damaged",
    ],
    ["a negative size", negativeSize(), "negative size"],
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

  test("too many entries are rejected", async () => {
    const entries = Array.from({ length: 11 }, (_, i) => file(`f${i}`, ""));
    await expect(unpack(archive(entries), { maxEntries: 10 })).rejects.toMatchObject({ code: "tooLarge" });
  });

  test("a decompression bomb is rejected", async () => {
    const bomb = gzipSync(archive([file("zeros", "\0".repeat(5_000_000))]));
    expect(bomb.length).toBeLessThan(10_000);
    await expect(unpack(bomb, { maxBytes: 1_000_000 })).rejects.toMatchObject({ code: "tooLarge" });
  });

  test("a file name with a trailing slash does not hide entries in the file's content", async () => {
    const hidden = archive([file("hidden")]).toString("latin1");
    await unpack(archive([file("shown/", hidden)]));
    expect(readdirSync(at())).toEqual(["shown"]);
    expect(statSync(at("shown")).size).toBe(hidden.length);
  });

  test("a trailing slash marks a directory in archives without type flags", async () => {
    await unpack(Buffer.concat([formatBlock({ name: "old/", mode: 0o755 }, "\0"), emptyArchiveEnd]));
    expect(statSync(at("old")).isDirectory()).toBe(true);
  });

  test.each([
    ["nothing at all", Buffer.alloc(0), []],
    ["one empty block", Buffer.alloc(512), []],
    ["no end", archive([file("a")]).subarray(0, -1_024), ["a"]],
    ["one empty block of the two", archive([file("a")]).subarray(0, -512), ["a"]],
    ["what does not fill its last block", archive([file("a")]).subarray(0, 516), ["a"]],
    ["junk behind its end", Buffer.concat([archive([file("a")]), Buffer.alloc(700, "junk")]), ["a"]],
    [
      "an extended header for no entry",
      Buffer.concat([archive([file("a")]).subarray(0, -1_024), extended("x", " path=lost\n")]),
      ["a"],
    ],
  ])("an archive with %s is complete, as in other runtimes", async (_name, blob, names) => {
    await unpack(blob);
    expect(readdirSync(at())).toEqual(names);
  });

  test("an entry gets the name that other runtimes give it", async () => {
    const name = Buffer.from("long\0");
    const longName = Buffer.concat([formatBlock({ name: "L", size: name.length }, "L"), pad(name)]);
    const blob = Buffer.concat([
      ...[longName, extended("x", " path=pax\n"), formatBlock({ name: "both" }, "0")],
      ...[extended("x", " path=lost\n"), extended("g", " path=all\n"), formatBlock({ name: "plain" }, "0")],
      emptyArchiveEnd,
    ]);
    await unpack(blob);
    expect(readdirSync(at()).sort()).toEqual(["long", "plain"]);
  });

  test("a device that is overlayfs's whiteout marker is skipped", async () => {
    const result = await unpack(archive([{ name: "mark", type: "char", deviceMajor: 0, deviceMinor: 0 }]));
    expect(result.skipped).toEqual(["mark"]);
    expect(readdirSync(at())).toEqual([]);
  });
});

describe("files with holes, as tar --sparse writes them", () => {
  test.each(["gnu", "posix"])("in the format %s are rejected with their name", async (format) => {
    writeFileSync(join(outside(), "disk.img"), "");
    truncateSync(join(outside(), "disk.img"), 1 << 20);
    const args = ["--sparse", `--format=${format}`, "-C", outside(), "-cf", "-", "disk.img"];
    const blob = execFileSync("tar", args);
    rmSync(join(outside(), "disk.img"));
    await expect(unpack(blob)).rejects.toThrow('has a sparse file ("disk.img"); make the layer without');
  });
});

function paxPath(path: string): Buffer {
  return Buffer.concat([
    extended("x", ` path=${path}\n`),
    formatBlock({ name: "short" }, "0"),
    emptyArchiveEnd,
  ]);
}

/** Extended header with one short record. */
function extended(typeFlag: "x" | "g", record: string): Buffer {
  const data = Buffer.from(`${record.length + 2}${record}`);
  return Buffer.concat([formatBlock({ name: "pax", size: data.length }, typeFlag), pad(data)]);
}

/** Header whose size is -1 in base 256, with a correct checksum. */
function negativeSize(): Buffer {
  const block = formatBlock({ name: "x" }, "0");
  block.fill(0xff, 124, 136);
  const sum = block.fill(" ", 148, 156).reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
