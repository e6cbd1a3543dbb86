import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { containerTree } from "./contain-paths.ts";
import type { Mount } from "./driver.ts";
import { makeInRoot, resolveInRoot } from "./resolve-in-root.ts";

let home: string;
let rootfs: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "root-"));
  rootfs = join(home, "rootfs");
  mkdirSync(join(rootfs, "real/inner"), { recursive: true });
  writeFileSync(join(rootfs, "real/file"), "");
});
afterEach(() => rmSync(home, { recursive: true }));

const link = (path: string, target: string) => symlinkSync(target, join(rootfs, path));
const resolve = (path: string) => resolveInRoot({ rootfs, mounted: [] }, path);
const volume = (destination: string, source: string, readonly = false): Mount => ({
  ...{ destination, source, readonly },
  ...({ propagation: "private", recursiveReadonly: false } as const),
});

describe("resolveInRoot", () => {
  it.each([
    ["/", "/", "directory"],
    ["/real/inner", "/real/inner", "directory"],
    ["/./real//inner/", "/real/inner", "directory"],
    ["real/file", "/real/file", "file"],
    ["/a/b", "/a/b", "missing"],
    ["a/../b", "/b", "missing"],
    ["/../../../etc/passwd", "/etc/passwd", "missing"],
  ])("resolves %s to %s, %s", (path, resolved, type) => {
    expect(resolve(path)).toEqual({ path: resolved, type, links: [] });
  });

  it.each([
    ["/etc", "/etc/x"],
    ["../../../../etc", "/etc/x"],
    ["real", "/real/x"],
    ["real/inner/..", "/real/x"],
    ["/real/inner/../../real", "/real/x"],
    ["missing/../real", "/real/x"],
    [".", "/x"],
    ["/", "/x"],
  ])("resolves a link to %s inside", (target, resolved) => {
    link("link", target);
    expect(resolve("/link/x")).toMatchObject({ path: resolved, links: [`/link -> ${target}`] });
  });

  it("resolves links relative to their directory", () => {
    link("real/inner/up", "../file");
    link("real/chain", "inner/up");
    expect(resolve("/real/chain")).toEqual({
      path: "/real/file",
      type: "file",
      links: ["/real/chain -> inner/up", "/real/inner/up -> ../file"],
    });
    // `..` is the parent of the link's target, not of the link.
    link("deep", "real/inner");
    expect(resolve("/deep/../file").path).toBe("/real/file");
  });

  it("follows 40 links, and rejects the 41st and loops", () => {
    link("l0", "real");
    for (let i = 1; i <= 40; i++) link(`l${i}`, `l${i - 1}`);
    expect(resolve("/l39/file").path).toBe("/real/file");
    expect(() => resolve("/l40/file")).toThrow(
      "path /l40/file cannot be used in the container: it goes through more than 40 symbolic links (through /l40 -> l39,",
    );
    link("self", "self");
    link("one", "/two");
    link("two", "one/x");
    for (const path of ["/self", "/one"]) expect(() => resolve(path)).toThrow("more than 40 symbolic links");
  });

  it.each(["/real/file/x", "/real/file/..", "/to-file/x"])(
    "rejects %s, which passes through a file",
    (path) => {
      link("to-file", "real/file");
      expect(() => resolve(path)).toThrow("/real/file is not a directory");
    },
  );

  it("rejects a NUL character, a name that is too long and a path that is too deep", () => {
    expect(() => resolve("/a\0b")).toThrow("it contains a NUL character");
    expect(() => resolve(`/${"a".repeat(300)}`)).toThrow("ENAMETOOLONG");
    expect(() => resolve("/a".repeat(300))).toThrow("nested more than 256 deep");
  });

  it.each(["/real/inner/../file", "/absolute", "/real/file/x", "/loop", "/missing/x"])(
    "closes every descriptor after %s",
    (path) => {
      link("loop", "loop");
      link("absolute", "/real/inner");
      const open = () => readdirSync("/proc/self/fd").length;
      const before = open();
      try {
        resolve(path);
      } catch {
        // Rejected: closed just the same.
      }
      expect(open()).toBe(before);
    },
  );
});

describe("the kernel's file systems", () => {
  const resolveMounted = (path: string) => resolveInRoot(containerTree({ rootfs, mounts: [] }), path);

  it.each([
    ["/proc/sys/kernel", "/proc/sys/kernel"],
    ["/proc/net/dev", "/proc/net/dev"],
    ["/sys/fs/cgroup", "/sys/fs/cgroup"],
    ["/dev/shm", "/dev/shm"],
    ["/dev/termination-log", "/dev/termination-log"],
    ["/dev/ptmx", "/dev/pts/ptmx"],
    ["/dev/constructor", "/dev/constructor"],
  ])("resolves %s to %s, whatever the image contains", (path, resolved) => {
    for (const [directory, name] of [
      ["proc", "sys"],
      ["sys", "fs"],
      ["dev", "shm"],
    ] as const) {
      mkdirSync(join(rootfs, directory));
      link(`${directory}/${name}`, "/real");
    }
    expect(resolveMounted(path)).toMatchObject({ path: resolved, type: "virtual" });
  });

  it.each([
    "/proc/self/root",
    "/proc/self/root/tmp",
    "/proc/1/cwd",
    "/proc/thread-self/exe",
    "/proc/self/fd/7",
    "/proc/self/task/12/root",
    "/proc/1/ns/mnt",
    "/dev/fd/3",
    "/dev/stdout",
    "/leads/x",
  ])("rejects %s, which passes through a magic link", (path) => {
    link("leads", "/proc/self/root");
    expect(() => resolveMounted(path)).toThrow(
      "it is a link of the kernel that can lead out of the container",
    );
  });

  it("rejects links of a mounted /proc of the host", () => {
    const tree = containerTree({ rootfs, mounts: [volume("/host/proc", "/proc")] });
    expect(resolveInRoot(tree, "/host/proc/sys/kernel").type).toBe("directory");
    for (const path of ["/host/proc/self/fd", `/host/proc/${process.pid}/root/tmp`, "/host/proc/1/cwd"])
      expect(() => resolveInRoot(tree, path)).toThrow("it is a link of the kernel");
  });
});

describe("mounted volumes", () => {
  it("hide the content below, and their links start at the container's root", () => {
    const source = join(home, "volume");
    mkdirSync(join(source, "dir"), { recursive: true });
    symlinkSync("/real", join(source, "absolute"));
    symlinkSync("../../../real", join(source, "relative"));
    const tree = containerTree({ rootfs, mounts: [volume("/real/inner", source)] });
    expect(resolveInRoot(tree, "/real/inner/dir").type).toBe("directory");
    for (const name of ["absolute", "relative"])
      expect(resolveInRoot(tree, `/real/inner/${name}/file`)).toMatchObject({
        path: "/real/file",
        type: "file",
      });
    expect(resolveInRoot(tree, "/real/inner/../file").path).toBe("/real/file");
  });
});

describe("makeInRoot", () => {
  it("creates missing entries and keeps existing ones", () => {
    const tree = { rootfs, mounted: [] };
    expect(makeInRoot(tree, "/new/dir", "directory").type).toBe("directory");
    expect(makeInRoot(tree, "/new/file", "file").type).toBe("file");
    expect(makeInRoot(tree, "/new/file", "file").type).toBe("file");
    expect(statSync(join(rootfs, "new/dir")).isDirectory()).toBe(true);
  });

  it("creates nothing in /dev, /proc and /sys", () => {
    const tree = containerTree({ rootfs, mounts: [] });
    for (const path of ["/dev/a/b", "/proc/x", "/sys/y"]) makeInRoot(tree, path, "directory");
    expect(readdirSync(rootfs)).toEqual(["real"]);
  });

  it("creates nothing in a read-only volume", () => {
    const source = join(home, "volume");
    mkdirSync(source);
    const tree = containerTree({ rootfs, mounts: [volume("/data", source, true)] });
    expect(() => makeInRoot(tree, "/data/x", "directory")).toThrow(
      "path /data/x cannot be used in the container: it does not exist, and the mount at /data is read-only",
    );
    expect(readdirSync(source)).toEqual([]);
  });

  it.each(["absolute", "relative"])(
    "creates nothing behind a link (%s) that replaced a directory after it was resolved",
    (kind) => {
      const source = join(realpathSync(home), "volume");
      const victim = join(realpathSync(home), "victim");
      for (const path of [join(source, "sub"), victim]) mkdirSync(path, { recursive: true });
      const tree = containerTree({ rootfs, mounts: [volume("/data", source)] });
      const { path } = resolveInRoot(tree, "/data/sub/deep");
      rmSync(join(source, "sub"), { recursive: true });
      symlinkSync(kind === "absolute" ? victim : "../victim", join(source, "sub"));
      expect(() => makeInRoot(tree, path, "directory")).toThrow(
        "it was replaced while the container was created",
      );
      expect(existsSync(join(victim, "deep"))).toBe(false);
    },
  );
});
