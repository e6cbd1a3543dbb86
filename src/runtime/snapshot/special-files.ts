import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/**
 * What overlayfs needs and Node has no call for: whiteouts are character devices 0/0, opaque directories carry an
 * attribute, and device nodes are device nodes. All are made in `scratch`, under names of ours, and moved from there.
 */
export interface SpecialFiles {
  /** False where the machine does not let us make whiteouts. */
  placeWhiteout(path: Buffer): boolean;
  /** An empty opaque directory in scratch, to be moved into place; undefined where overlayfs cannot be mounted. */
  takeOpaqueDirectory(): string | undefined;
  /** A node in scratch; undefined where the machine does not let us. */
  makeNode(node: { type: "char" | "block" | "fifo"; major: number; minor: number }): string | undefined;
}

const batchSize = 64;

export function createSpecialFiles(scratch: string): SpecialFiles {
  let count = 0;
  let whiteout: string | undefined;
  const opaque: string[] = [];

  function makeNode(node: {
    type: "char" | "block" | "fifo";
    major: number;
    minor: number;
  }): string | undefined {
    const path = join(scratch, `node-${count++}`);
    const kind = { char: "c", block: "b", fifo: "p" }[node.type];
    const numbers = node.type === "fifo" ? [] : [String(node.major), String(node.minor)];
    return run("mknod", [path, kind, ...numbers]) ? path : undefined;
  }

  /**
   * Node cannot set attributes, but the kernel does it for us: a directory that is removed and made again in a
   * mounted overlay is opaque in the upper layer.
   */
  function makeOpaqueBatch(): void {
    const folder = join(scratch, `opaque-${count++}`);
    for (const name of ["l", "u", "w", "m"]) mkdirSync(join(folder, name), { recursive: true });
    const names = Array.from({ length: batchSize }, (_, i) => String(i));
    for (const name of names) mkdirSync(join(folder, "l", name));
    // Relative: the data directory's path may have a colon or a comma.
    const options = "lowerdir=l,upperdir=u,workdir=w";
    if (!run("mount", ["-t", "overlay", "overlay", "-o", options, "m"], folder)) return;
    try {
      for (const name of names) {
        rmSync(join(folder, "m", name), { recursive: true });
        mkdirSync(join(folder, "m", name), 0o755);
      }
    } finally {
      run("umount", [join(folder, "m")]);
    }
    opaque.push(...names.map((name) => join(folder, "u", name)));
  }

  return {
    placeWhiteout(path) {
      whiteout ??= makeNode({ type: "char", major: 0, minor: 0 });
      if (whiteout === undefined) return false;
      try {
        linkSync(whiteout, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EMLINK") throw error;
        whiteout = makeNode({ type: "char", major: 0, minor: 0 });
        if (whiteout === undefined) return false;
        linkSync(whiteout, path);
      }
      return true;
    },
    takeOpaqueDirectory() {
      if (opaque.length === 0) makeOpaqueBatch();
      return opaque.pop();
    },
    makeNode,
  };
}

function run(program: string, args: readonly string[], cwd?: string): boolean {
  return spawnSync(program, args, { cwd, stdio: "ignore" }).status === 0;
}
