import { execFileSync } from "node:child_process";
import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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

const noted = (note: string) => ({ xattrs: new Map([["user.note", Buffer.from(note)]]) });

/** Attribute of the file as tar reads it, with one character per byte. */
function noteOf(path: string): string | undefined {
  const args = ["-c", "--xattrs", "--xattrs-include=*", "--no-recursion", "-C", join(path, ".."), "--", path];
  const packed = execFileSync("tar", args, { stdio: ["ignore", "pipe", "ignore"] }).toString("latin1");
  return /SCHILY\.xattr\.user\.note=([^\n]*)\n/.exec(packed)?.[1];
}

describeAsRoot("extended attributes", () => {
  test("are set on many files and directories without changing anything else", async () => {
    const rest = { mode: 0o4711, uid: 7, gid: 8, mtimeMs: 2_000_000 };
    const many = Array.from({ length: 200 }, (_, i) =>
      file(`d/f${i}`, `data ${i}`, { ...rest, ...noted(`n${i}`) }),
    );
    const { skipped } = await unpack(
      archive([directory("d", { mtimeMs: 1_000_000, ...noted("of d") }), ...many, hardlink("link", "d/f7")]),
    );
    expect(skipped).toEqual([]);
    expect(["d", "d/f0", "d/f199", "link"].map((path) => noteOf(at(path)))).toEqual([
      "of d",
      "n0",
      "n199",
      "n7",
    ]);
    expect(statSync(at("d/f7"))).toMatchObject({
      ...{ mode: 0o104711, uid: 7, gid: 8 },
      mtimeMs: 2_000_000,
      nlink: 2,
    });
    expect(statSync(at("d/f7")).size).toBe("data 7".length);
    expect(statSync(at("d"))).toMatchObject({ mode: 0o40755, mtimeMs: 1_000_000 });
  });

  test("are removed with a file that a later entry replaces, and stay on its other hard links", async () => {
    await unpack(
      archive([
        ...[file("a", "first", noted("of a")), hardlink("b", "a"), file("a", "second")],
        ...[file("c", "", noted("of c")), symlink("c", join(outside(), "secret"))],
        ...[file("d/e", "", noted("of e")), file("d", "now a file")],
      ]),
    );
    expect(["a", "b", "d"].map((path) => noteOf(at(path)))).toEqual([undefined, "of a", undefined]);
    expect(lstatSync(at("c")).isSymbolicLink()).toBe(true);
    expect(noteOf(join(outside(), "secret"))).toBeUndefined();
  });

  const big = { xattrs: new Map([["user.big", Buffer.alloc(1_000_000)]]) };
  test.each([
    ["in files", Array.from({ length: 18 }, (_, i) => file(`f${i}`, "", big))],
    ["in links", [file("f", "", big), ...Array.from({ length: 17 }, (_, i) => hardlink(`l${i}`, "f"))]],
  ])("are rejected above the size limit: %s", async (_name, entries) => {
    const bomb = archive(entries);
    await expect(unpack(bomb)).rejects.toMatchObject({
      code: "tooLarge",
      message: expect.stringContaining("bytes of attributes"),
    });
  });
});
