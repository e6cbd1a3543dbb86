import { readdirSync, readFileSync } from "node:fs";
import { findProgram } from "../find-program.ts";

const closeOnExec = 0o2000000;

/**
 * Files that the daemon was started with and that every child of it would have: sockets of a service manager, pipes
 * of a test runner. A container must not see them. Node opens its own so that they close by themselves.
 */
function inheritedFiles(): number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && !closesOnExec(fd));
}

function closesOnExec(fd: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & closeOnExec) !== 0;
  } catch {
    // The one that read the directory is gone by now.
    return true;
  }
}

/** The same command with those files closed. A plain shell cannot name descriptors above 9; bash goes first then. */
export function withoutInheritedFiles(words: readonly string[]): [string, ...string[]] {
  const files = inheritedFiles();
  const [command = "", ...rest] = words;
  const bash = files.length > 0 ? findProgram("bash") : undefined;
  if (!bash) return [command, ...rest];
  const closing = files.map((fd) => `${fd}>&-`).join(" ");
  return [bash, "-c", `exec "$@" ${closing}`, "bash", command, ...rest];
}
