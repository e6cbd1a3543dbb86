import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type CgroupLayout, controllerDir } from "../../../lib/cgroup/cgroup-layout.ts";

/** Not the process number: a daemon in a container has the same one each time, and would find what an earlier one left. */
const daemon = randomBytes(4).toString("hex");
let last = 0;

/** For the files and the cgroup of one `exec`. */
export function nextExecName(): string {
  return `exec-${daemon}-${++last}`;
}

export interface ExecCgroup {
  readonly dir: string;
  /** As runc's `exec --cgroup` wants it. */
  readonly argument: string;
}

/**
 * A cgroup to find by it all that one `exec` has started, wherever its processes have gone. One directory is enough:
 * with v1 in the hierarchy that limits nothing.
 */
export function makeExecCgroup(layout: CgroupLayout, cgroup: string, name: string): ExecCgroup | undefined {
  const parent = controllerDir(layout, "freezer", cgroup);
  if (!parent) return undefined;
  const dir = join(parent, name);
  try {
    mkdirSync(dir);
    return { dir, argument: layout.kind === "v2" ? name : `freezer:${name}` };
  } catch {
    return undefined;
  }
}
