import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureTarget, hostPath, resolveInTree } from "./resolve-in-root.ts";

let home: string;
let rootfs: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "tree-"));
  rootfs = join(home, "rootfs");
  mkdirSync(join(rootfs, "real/inner"), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true }));

describe("resolveInTree", () => {
  it.each([
    ["/a/b", "/a/b"],
    ["a/../b", "/b"],
    ["/../../../etc/passwd", "/etc/passwd"],
    ["/./real//inner/", "/real/inner"],
  ])("%s is %s", (path, resolved) => {
    expect(resolveInTree({ rootfs, mounted: [] }, path)).toBe(resolved);
  });

  it.each([
    ["/etc", "/etc/x"],
    ["../../../../etc", "/etc/x"],
    ["real", "/real/x"],
    ["real/inner/..", "/real/x"],
  ])("a link to %s stays inside", (target, resolved) => {
    symlinkSync(target, join(rootfs, "link"));
    expect(resolveInTree({ rootfs, mounted: [] }, "/link/x")).toBe(resolved);
  });

  it("gives up on circles", () => {
    symlinkSync("/two", join(rootfs, "one"));
    symlinkSync("/one", join(rootfs, "two"));
    expect(() => resolveInTree({ rootfs, mounted: [] }, "/one")).toThrow(/too many links/);
  });

  it("follows links inside of what is mounted", () => {
    const source = join(home, "volume");
    mkdirSync(source);
    symlinkSync("/etc", join(source, "sneaky"));
    const tree = { rootfs, mounted: [{ destination: "/volume", source }] };
    expect(resolveInTree(tree, "/volume/sneaky/x")).toBe("/etc/x");
    expect(hostPath(tree, "/volume/a")).toBe(join(source, "a"));
    expect(hostPath(tree, "/volumes")).toBe(join(rootfs, "volumes"));
  });
});

it("makes what to mount on", () => {
  const tree = { rootfs, mounted: [] };
  ensureTarget(tree, "/new/dir", "directory");
  ensureTarget(tree, "/new/file", "file");
  ensureTarget(tree, "/new/file", "file");
  expect(existsSync(join(rootfs, "new/dir"))).toBe(true);
});
