import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { dirname } from "node:path";
import { mountPointsBelow, readMountInfo } from "../../lib/fs/mount-points.ts";
import { quoteShell } from "../../lib/process/run-program.ts";
import { errorCode, mountIdOf, openPlace, withHeld } from "./held-directory.ts";

/** Mount operations in the kubelet's mount namespace. */
export interface Mounter {
  /** Returns whether the path is a mount point. False if it does not exist. */
  isMountPoint(path: string): Promise<boolean>;
  /** Lists mount points below a directory in the order in which they can be unmounted. */
  mountPointsBelow(directory: string): Promise<readonly string[]>;
  mountTmpfs(directory: string, options: { readonly sizeBytes?: number }): Promise<void>;
  bind(source: string, target: string): Promise<void>;
  /** Unmounts the path, lazily if it is in use. */
  unmount(path: string): Promise<void>;
}

export function createMounter(): Mounter {
  const { run } = createProgramShell();
  // Not supported by kernels before 6.3 or in user namespaces.
  let noswap = true;

  async function tmpfs(directory: string, size: readonly string[]): Promise<void> {
    const options = [...size, "mode=0777", ...(noswap ? ["noswap"] : [])].join(",");
    await run("mount", ["-n", "-t", "tmpfs", "-o", options, "tmpfs", directory]);
  }

  return {
    isMountPoint: differsFromParent,
    async mountPointsBelow(directory) {
      return mountPointsBelow(await readMountInfo(), directory);
    },
    async mountTmpfs(directory, { sizeBytes }) {
      const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
      if (noswap) {
        try {
          return await tmpfs(directory, size);
        } catch {
          noswap = false;
        }
      }
      await tmpfs(directory, size);
    },
    bind: (source, target) => run("mount", ["-n", "--no-canonicalize", "--bind", source, target]),
    async unmount(path) {
      try {
        await run("umount", ["-n", "--no-canonicalize", path]);
      } catch {
        await run("umount", ["-n", "--no-canonicalize", "--lazy", path]);
      }
    },
  };
}

/** Compares mount IDs which, unlike device numbers, also detect bind mounts. */
async function differsFromParent(path: string): Promise<boolean> {
  try {
    const idOf = (place: string) => withHeld(openPlace(place), mountIdOf);
    const [own, parent] = await Promise.all([idOf(path), idOf(dirname(path))]);
    return own !== parent;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}

/** Runs programs sequentially. */
interface ProgramShell {
  /** Runs a program. Rejects with its output if it fails. */
  run(program: string, args: readonly string[]): Promise<void>;
}

const runTimeoutMs = 60_000;
/** Idle time after which the shell exits, so that pods in quick succession share it. */
const idleMs = 60_000;

/**
 * Runs programs from a small shell instead of forking this process, because copying the page tables of a large process
 * blocks it for milliseconds. The shell exits when idle, and when this process exits, because its stdin closes.
 */
export function createProgramShell(): ProgramShell {
  let shell: ChildProcessWithoutNullStreams | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();

  function running(): ChildProcessWithoutNullStreams {
    clearTimeout(idle);
    if (shell && shell.exitCode === null && shell.signalCode === null) return shell;
    const child = spawn("sh", [], { cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    child.on("error", () => {
      if (shell === child) shell = undefined;
    });
    // Handled by the close event.
    child.stdin.on("error", () => {});
    shell = child;
    return child;
  }

  function rest(child: ChildProcessWithoutNullStreams): void {
    setHolding(child, false);
    idle = setTimeout(() => {
      child.stdin.end();
      if (shell === child) shell = undefined;
    }, idleMs);
    idle.unref();
  }

  async function next(words: readonly string[]): Promise<void> {
    const child = running();
    setHolding(child, true);
    try {
      await runInShell(child, words);
    } finally {
      rest(child);
    }
  }

  return {
    run(program, args) {
      const mine = last.then(() => next([program, ...args]));
      last = mine.catch(() => {});
      return mine;
    },
  };
}

function runInShell(child: ChildProcessWithoutNullStreams, words: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // A random marker, so that output of a program is not taken for its end.
    const mark = randomBytes(8).toString("hex");
    let printed = "";
    const settle = (act: () => void) => {
      clearTimeout(timer);
      child.stdout.off("data", onData);
      child.off("close", onClose);
      child.off("error", onError);
      act();
    };
    const onClose = () => settle(() => reject(new Error(`${words[0]}: the shell exited`)));
    const onError = (error: Error) => settle(() => reject(error));
    const onData = (chunk: Buffer) => {
      printed += chunk;
      const [, output = "", exitCode] = new RegExp(`^([^]*)${mark} (\\d+)\\n$`).exec(printed) ?? [];
      if (exitCode === undefined) return;
      const message = output.trim() || `${words[0]} ended with exit code ${exitCode}`;
      settle(() => (exitCode === "0" ? resolve() : reject(new Error(message))));
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      settle(() => reject(new Error(`${words[0]} did not end within ${runTimeoutMs / 1_000} s`)));
    }, runTimeoutMs);
    child.stdout.on("data", onData);
    child.on("close", onClose);
    child.on("error", onError);
    child.stdin.write(`${words.map(quoteShell).join(" ")} </dev/null 2>&1; echo "${mark} $?"\n`);
  });
}

/** Sets whether the shell keeps this process alive. */
function setHolding(child: ChildProcessWithoutNullStreams, hold: boolean): void {
  for (const part of [child, child.stdin, child.stdout, child.stderr]) {
    if (part !== child && !(part instanceof Socket)) continue;
    if (hold) part.ref();
    else part.unref();
  }
}
