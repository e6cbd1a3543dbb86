import { lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startUp, type UpProcess } from "../support/cluster/up-process.ts";
import { makeTemporaryFolder } from "../support/files/temporary-folder.ts";
import { isRoot } from "../support/programs/tools.ts";

describe.skipIf(!isRoot)("the data directory of kindling up [needs root]", () => {
  const folder = makeTemporaryFolder();
  const dataDir = join(folder.path, "data");
  let up: UpProcess;

  beforeAll(async () => {
    up = await startUp(["--data-dir", dataDir, "--dashboard", "off"]);
  });
  afterAll(async () => {
    await up?.kill("SIGTERM");
    folder.remove();
  });

  /** Everything that a user can open by its path: paths can be guessed, or read in /proc/mounts. */
  function* withinReach(directory: string): Generator<{ path: string; stat: Stats }> {
    for (const name of namesIn(directory)) {
      const path = join(directory, name);
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (!stat) continue;
      yield { path, stat };
      if (stat.isDirectory() && stat.mode & 0o001) yield* withinReach(path);
    }
  }

  /** The cluster goes on meanwhile: a directory may be gone since its name was read. */
  function namesIn(directory: string): string[] {
    try {
      return readdirSync(directory);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
  }

  test("another user of the machine can neither read nor write the data directory, connect to its sockets nor become root through it", () => {
    expect(lstatSync(dataDir).mode & 0o777).toBe(0o711);
    const found = [...withinReach(dataDir)];
    expect(found.length).toBeGreaterThan(3);
    const open = found.filter(({ path, stat }) => {
      const mode = stat.mode & 0o7777;
      if (stat.isSymbolicLink() || stat.isCharacterDevice()) return false;
      const readable = stat.isSocket() ? 0 : 0o004;
      return mode & 0o6002 || (mode & readable && !isOfDriver(path));
    });
    expect(open.map(({ path }) => path)).toEqual([]);
  });

  /** Copies of the machine's own programs, and what was found out about them: nothing of a container. */
  function isOfDriver(path: string): boolean {
    return path.includes("/runtime/driver/");
  }

  test("the kubeconfig is readable only by its owner", () => {
    expect(lstatSync(up.kubeconfig).mode & 0o777).toBe(0o600);
  });
});
