import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { quoteShell } from "../../../lib/process/run-program.ts";
import { bindLines, type HostBind } from "./plan-host-mounts.ts";

const bind: HostBind = {
  ...{ kind: "bind", source: "/source", target: "/data/sub", place: "root" },
  ...{ readonly: false, recursiveReadonly: false, propagation: "rprivate" },
};
const lines = (mount: Partial<HostBind>) =>
  bindLines({ ...bind, ...mount }, (path) => quoteShell(`/root${path}`)).join("\n");

test("binds directly at a path in the image's root", () => {
  expect(lines({ readonly: true })).toBe("mount --rbind --make-rprivate -o ro '/source' '/root/data/sub'");
});

test("creates the mount point in the new /dev", () => {
  expect(lines({ target: "/dev/log", place: "dev" })).toContain("mkdir -p '/root/dev/log'");
});

describe.runIf(process.getuid?.() === 0)("a mount point in a volume", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "bind lines-"));
    for (const path of ["real/data/sub", "real/dev", "source", "victim"])
      mkdirSync(join(home, path), { recursive: true });
    // Like a data directory that is a link to another disk.
    symlinkSync("real", join(home, "root"));
    for (const path of ["real/data/file", "source/from-source", "victim/file"])
      writeFileSync(join(home, path), "");
    writeFileSync(join(home, "file"), "content\n");
  });
  afterEach(() => rmSync(home, { recursive: true }));

  /** Output of a command in the mount namespace after the lines have run in it. */
  async function run(mount: Partial<HostBind>, show: string): Promise<string> {
    const inRoot = (path: string) => quoteShell(path === "/" ? join(home, "root") : join(home, "root", path));
    const script = ["set -e", ...bindLines({ ...bind, place: "volume", ...mount }, inRoot), show].join("\n");
    const { stdout } = await promisify(execFile)("unshare", ["--mount", "sh", "-c", script], { cwd: home });
    return stdout;
  }

  test("binds a directory with its options and closes the descriptor", async () => {
    const show = "ls root/data/sub root/dev; { echo x > root/data/sub/new; } 2>&1 || true; ls /proc/$$/fd";
    const shown = await run({ source: join(home, "source"), readonly: true }, show);
    expect(shown).toMatch(/root\/data\/sub:\nfrom-source\n\nroot\/dev:\n/);
    expect(shown).toContain("Read-only file system");
    expect(shown).not.toMatch(/^9$/m);
  });

  test("binds a file", async () => {
    const mount = { source: join(home, "file"), target: "/data/file" };
    expect(await run(mount, "cat root/data/file; ls -A root/dev")).toBe("content\n");
  });

  test.each([
    ["a directory", "/data/sub", "source"],
    ["a directory on the way", "/data/sub/deep", "source"],
    ["a file", "/data/file", "file"],
  ])("is rejected when %s has become a link out of the root", async (_what, target, source) => {
    const swapped = target === "/data/file" ? "file" : "sub";
    rmSync(join(home, "real/data", swapped), { recursive: true });
    mkdirSync(join(home, "victim/deep"));
    symlinkSync(join(home, swapped === "file" ? "victim/file" : "victim"), join(home, "real/data", swapped));
    const problem = `mount point ${target} was replaced while the container was created`;
    await expect(run({ source: join(home, source), target }, "")).rejects.toThrow(problem);
    expect(readdirSync(join(home, "victim")).sort()).toEqual(["deep", "file"]);
  });
});
