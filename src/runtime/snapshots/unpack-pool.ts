import { type ChildProcess, spawn } from "node:child_process";
import { access, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ImageError } from "../errors/image-error.ts";
import type { JobAnswer, UnpackAnswer, UnpackMessage, UnpackRequest, UnpackResult } from "./unpack-layer.ts";

/** Hashes and unpacks in a separate process, which starts when there is work and stops after a time without work. */
export interface UnpackPool {
  unpack(request: UnpackRequest, signal: AbortSignal): Promise<UnpackResult>;
  /** Computes the digest of a file that is still being downloaded. */
  hash(file: string, signal: AbortSignal): FileHash;
  /** Starts the process ahead of expected work. */
  warm(): void;
  close(): Promise<void>;
}

interface FileHash {
  advance(bytes: number): void;
  /** Ends the input and returns the digest of the first `bytes` bytes. */
  finish(bytes: number): Promise<string>;
}

/** Step in which the process is notified of new data; a notification for each chunk would wake it a thousand times. */
const notifyStepBytes = 1 << 20;

/** Process and its pending requests. A new process may start before the previous one has exited. */
interface Running {
  readonly process: ChildProcess;
  readonly waiting: Map<number, { resolve(answer: JobAnswer): void; reject(error: unknown): void }>;
}

export function createUnpackPool(options: {
  command: readonly string[];
  /** Called when the process has started, with whether the kernel confines it. */
  onReady?: (facts: { jailed: boolean }) => void;
  /** Time without work after which the process stops. */
  idleMs?: number;
}): UnpackPool {
  const { idleMs = 10_000 } = options;
  let current: Running | undefined;
  let nextId = 1;
  let idleTimer: NodeJS.Timeout | undefined;

  function ensureRunning(): Running {
    clearTimeout(idleTimer);
    if (current) return current;
    const [program = process.execPath, ...args] = options.command;
    const child = spawn(program, args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // MALLOC_ARENA_MAX: glibc otherwise keeps an arena per thread, each as large as its thread ever needed. The rest
      // of the daemon's environment is not passed: it may hold secrets, and names files that the jail does not have.
      env: { PATH: process.env.PATH, MALLOC_ARENA_MAX: "2", UV_THREADPOOL_SIZE: "4" },
    });
    const running: Running = { process: child, waiting: new Map() };
    current = running;
    child.on("message", (answer: UnpackAnswer) => {
      if (answer.kind === "ready") options.onReady?.(answer);
      else settle(running, answer);
    });
    const gone = (why: string) => {
      if (current === running) current = undefined;
      const error = new ImageError("internal", `the unpack process ended: ${why}`);
      for (const [id, { reject }] of running.waiting) {
        running.waiting.delete(id);
        reject(error);
      }
    };
    child.on("error", (error: NodeJS.ErrnoException) =>
      gone(
        error.code === "ENOENT" ? `${program} is not installed: apt-get install util-linux` : error.message,
      ),
    );
    child.on("exit", (code, signal) => gone(signal ?? `exit code ${code}`));
    return running;
  }

  function settle(running: Running, answer: JobAnswer): void {
    const entry = running.waiting.get(answer.id);
    running.waiting.delete(answer.id);
    if (answer.kind === "failed") entry?.reject(new ImageError(answer.code, answer.message));
    else entry?.resolve(answer);
    stopWhenIdle();
  }

  function stopWhenIdle(): void {
    // Only one timer exists at a time, because new work clears only the one it knows.
    clearTimeout(idleTimer);
    if (current?.waiting.size === 0) idleTimer = setTimeout(stop, idleMs).unref();
  }

  function stop(): void {
    if (current?.process.connected) current.process.disconnect();
    current = undefined;
  }

  function post({ process: child }: Running, message: UnpackMessage): void {
    // A process that exits is detected by its exit event, not by failed sends.
    if (child.connected) child.send(message, () => {});
  }

  /**
   * Sends a request and returns the response. On abort it settles once the process has stopped working on the request.
   */
  function ask(running: Running, message: UnpackMessage, signal: AbortSignal): Promise<JobAnswer> {
    const answer = new Promise<JobAnswer>((resolve, reject) => {
      signal.throwIfAborted();
      running.waiting.set(message.id, { resolve, reject });
      post(running, message);
    });
    const onAbort = () => post(running, { kind: "cancel", id: message.id });
    signal.addEventListener("abort", onAbort, { once: true });
    return answer
      .catch((error) => {
        throw signal.aborted ? signal.reason : error;
      })
      .finally(() => signal.removeEventListener("abort", onAbort));
  }

  return {
    async unpack(request, signal) {
      const answer = await ask(ensureRunning(), { kind: "unpack", id: nextId++, request }, signal);
      if (answer.kind !== "unpacked")
        throw new ImageError("internal", "unexpected response of the unpack process");
      return answer.result;
    },
    hash(file, signal) {
      const id = nextId++;
      const running = ensureRunning();
      const answer = ask(running, { kind: "hash", id, file }, signal);
      // A caller that never calls finish must not cause an unhandled rejection.
      answer.catch(() => {});
      let notifiedBytes = 0;
      return {
        advance(bytes) {
          if (bytes - notifiedBytes < notifyStepBytes) return;
          notifiedBytes = bytes;
          post(running, { kind: "available", id, bytes, last: false });
        },
        async finish(bytes) {
          post(running, { kind: "available", id, bytes, last: true });
          const hashed = await answer;
          if (hashed.kind !== "hashed")
            throw new ImageError("internal", "unexpected response of the unpack process");
          return hashed.digest;
        },
      };
    },
    warm() {
      ensureRunning();
      stopWhenIdle();
    },
    async close() {
      clearTimeout(idleTimer);
      const ending = current?.process;
      stop();
      if (ending && ending.exitCode === null && ending.signalCode === null) {
        await new Promise<void>((resolve) => ending.once("exit", () => resolve()));
      }
    },
  };
}

/**
 * Script that runs the unpack process in a jail. A layer is untrusted input handled by root. The code that unpacks it
 * checks every path (layer-tree.ts); in case of an error in it, the kernel confines the process to its own root with
 * the system's programs and the blobs, read-only, and the staging directory. The mount namespace also removes mounts
 * when the process dies.
 * Where the machine does not allow this, the process runs without a jail and reports so; its own checks still apply.
 */
const jail = `
jail=$1 node=$2 program=$3 content=$4 staging=$5
# Inside the jail, programs are only in the standard directories.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
enter() {
  mount -t tmpfs -o mode=755 jail "$jail" || return 1
  mkdir -p "$jail/proc" "$jail/dev" "$jail/etc" "$jail/tmp" "$jail/old" || return 1
  for path in /usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix /gnu; do
    if [ -L "$path" ]; then cp -P "$path" "$jail$path" || return 1
    elif [ -d "$path" ]; then mkdir -p "$jail$path" && mount -o bind,ro "$path" "$jail$path" || return 1
    fi
  done
  for file in /dev/null /etc/ld.so.cache "$node"; do
    [ -e "$file" ] && [ ! -e "$jail$file" ] || continue
    mkdir -p "$jail$(dirname "$file")" && : > "$jail$file" && mount -o bind,ro "$file" "$jail$file" || return 1
  done
  for path in "$program" "$content"; do
    [ -d "$jail$path" ] && continue
    mkdir -p "$jail$path" && mount -o bind,ro "$path" "$jail$path" || return 1
  done
  mkdir -p "$jail$staging" && mount --bind "$staging" "$jail$staging" || return 1
  mount -t proc proc "$jail/proc" || return 1
  cd "$jail" && pivot_root . old && cd / && umount -l /old && mount -o remount,ro /
}
if enter; then export KINDLING_JAILED=yes; fi
shift 5
exec "$node" "$@"
`;

/**
 * Node options that save memory. By default V8 lets buffers of twice the young generation's size pile up in each
 * thread; here each buffer is used once. The optimizing compiler takes 25 MB and hardly helps, because the work is
 * inflating, hashing and system calls. See also free-used-buffers.ts.
 */
const frugal = ["--max-semi-space-size=1", "--no-opt", "--expose-gc"];

export interface UnpackCommand {
  readonly argv: readonly string[];
}

export async function unpackCommand(options: { dataDir: string; program?: string }): Promise<UnpackCommand> {
  const program = options.program ?? (await findProgram());
  const root = join(options.dataDir, "jail");
  await mkdir(root, { recursive: true, mode: 0o700 });
  const [content, staging] = [join(options.dataDir, "content"), join(options.dataDir, "staging")];
  const namespaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
  const script = [
    "sh",
    "-c",
    jail,
    "sh",
    root,
    process.execPath,
    dirname(program),
    content,
    staging,
    ...frugal,
    program,
  ];
  return {
    argv:
      process.getuid?.() === 0
        ? ["unshare", ...namespaces, ...script]
        : [process.execPath, ...frugal, program],
  };
}

/** Finds the unpack program. The bundle puts entry points in one directory and shared chunks in another below it. */
async function findProgram(): Promise<string> {
  const candidates = ["./unpack-process.js", "../unpack-process.js"].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  );
  for (const candidate of candidates) {
    const found = await access(candidate).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  throw new Error(
    `unpack-process.js is not beside the command (searched ${candidates.join(", ")}); run npm run build`,
  );
}
