import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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

const { unpack, outside, staging, at, read } = unpackingPlace();

describeAsRoot("accepted layers", () => {
  test("writes files, directories, links, owners, modes and times", async () => {
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
    expect(statSync(at("usr/su"))).toMatchObject({
      mode: 0o104755,
      uid: 1,
      gid: 2,
      mtimeMs: 2_000_000,
      nlink: 2,
    });
    expect(statSync(at("usr"))).toMatchObject({ mode: 0o40711, mtimeMs: 1_000_000 });
    expect(readlinkSync(at("bin"))).toBe("usr");
    expect(lstatSync(at("pipe")).isFIFO()).toBe(true);
    expect(lstatSync(at("null")).rdev).toBe(0x103);
  });

  test("reads long names of pax and GNU archives, and names that are not UTF-8", async () => {
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
    expect(readdirSync(at())).toContain(gnuName.toString());
    expect(readdirSync(at(), "buffer").some((name) => name.includes(0xe9))).toBe(true);
  });

  test("a later entry replaces an earlier one of any type", async () => {
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
    expect(readlinkSync(at("f"))).toBe("b");
  });

  test("whiteouts and opaque directories become overlayfs's markers", async () => {
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
    const gone = lstatSync(at("etc/gone"));
    expect([gone.isCharacterDevice(), gone.rdev]).toEqual([true, 0]);
    expect(read("var/kept")).toBe("data");
    expect(readdirSync(at("etc")).sort()).toEqual(["gone", "gone2"]);
    expect(seenOverLower(["etc/gone", "etc/stays", "var/hidden", "was/dir/hidden"])).toEqual(["etc/stays"]);
  });

  test("a name with a leading slash starts at the layer's root", async () => {
    await unpack(archive([file("/kindling-escaped")]));
    expect(read("kindling-escaped")).toBe("data");
  });

  test("a path through a link of the same layer stays inside, as if the layer were the root", async () => {
    await unpack(
      archive([
        directory("usr"),
        symlink("lib", "/usr"),
        file("lib/x"),
        symlink("up", "../../../../.."),
        file("up/top"),
        symlink("out", outside()),
        file("out/secret", "stays inside"),
      ]),
    );
    expect(read("usr/x")).toBe("data");
    expect(read("top")).toBe("data");
    expect(read(join(outside(), "secret").slice(1))).toBe("stays inside");
  });

  test("sets file capabilities and drops overlayfs's attributes", async () => {
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
    expect([read("ping"), statSync(at("ping")).nlink]).toEqual(["elf", 2]);
    const listed = execFileSync("tar", ["-c", "--xattrs", "--xattrs-include=*", "-C", at(), "ping"]).toString(
      "latin1",
    );
    expect(listed).toContain(`SCHILY.xattr.security.capability=${capability.toString("latin1")}`);
    expect(listed).toContain("SCHILY.xattr.user.note=hello");
    expect(listed).not.toContain("overlay.opaque");
  });

  test("reports directories that only appear in paths as implicit", async () => {
    expect((await unpack(archive([file("a/b/c"), directory("a")]))).implicit).toEqual(["a/b"]);
  });
});

/** Paths, all present in a lower layer, that remain visible through the unpacked layer. */
function seenOverLower(paths: readonly string[]): string[] {
  const beside = (name: string) => join(staging(), name);
  for (const path of paths) {
    mkdirSync(join(beside("lower"), path, ".."), { recursive: true });
    writeFileSync(join(beside("lower"), path), "");
  }
  mkdirSync(beside("merged"));
  const layers = `lowerdir=${at()}:${beside("lower")}`;
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", layers, beside("merged")]);
  try {
    return paths.filter((path) => existsSync(join(beside("merged"), path)));
  } finally {
    execFileSync("umount", [beside("merged")]);
  }
}
