import { type ChildProcess, spawn } from "node:child_process";
import { ImageError } from "../image/image-error.ts";
import type { UnpackRequest, UnpackResult } from "./unpack-layer.ts";
import type { JobAnswer, UnpackAnswer, UnpackMessage } from "./unpack-messages.ts";

/** Hashing and unpacking in a process of their own, started when there is work and ended when there has been none. */
export interface UnpackPool {
  unpack(request: UnpackRequest, signal: AbortSignal): Promise<UnpackResult>;
  /** The digest of a file that is still being downloaded. */
  hash(file: string, signal: AbortSignal): FileHash;
  /** Starts the process ahead of the work that will come. */
  warm(): void;
  close(): Promise<void>;
}

interface FileHash {
  advance(bytes: number): void;
  /** No more comes; the digest of the first `bytes` bytes. */
  finish(bytes: number): Promise<string>;
}

/** Telling of each piece that arrives would wake the process up a thousand times for nothing: it reads in such steps. */
const tellBytes = 1 << 20;

/** One process and what it was asked. Its successor may run before it has quite ended. */
interface Running {
  readonly process: ChildProcess;
  readonly waiting: Map<number, { resolve(answer: JobAnswer): void; reject(error: unknown): void }>;
}

export function createUnpackPool(options: {
  command: readonly string[];
  /** The process runs; told whether the kernel confines it. */
  onReady?: (facts: { jailed: boolean }) => void;
  /** It ends when it has had no work for so long. */
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
      // glibc keeps an arena per thread otherwise, each as big as its thread ever needed.
      // Nothing else of the daemon's environment: it may hold secrets, and names files that the jail does not have.
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
    // Only one timer at a time: work clears the one it knows of.
    clearTimeout(idleTimer);
    if (current?.waiting.size === 0) idleTimer = setTimeout(stop, idleMs).unref();
  }

  function stop(): void {
    if (current?.process.connected) current.process.disconnect();
    current = undefined;
  }

  function post({ process: child }: Running, message: UnpackMessage): void {
    // A process that is going is noticed by its exit, not by what can no longer be sent to it.
    if (child.connected) child.send(message, () => {});
  }

  /** The answer to a message, once the process has let go of the work when the signal aborts. */
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
      if (answer.kind !== "unpacked") throw new ImageError("internal", "the unpack process answers wrongly");
      return answer.result;
    },
    hash(file, signal) {
      const id = nextId++;
      const running = ensureRunning();
      const answer = ask(running, { kind: "hash", id, file }, signal);
      // Whoever never asks for the digest is not told that there is none.
      answer.catch(() => {});
      let told = 0;
      return {
        advance(bytes) {
          if (bytes - told < tellBytes) return;
          told = bytes;
          post(running, { kind: "available", id, bytes, last: false });
        },
        async finish(bytes) {
          post(running, { kind: "available", id, bytes, last: true });
          const hashed = await answer;
          if (hashed.kind !== "hashed")
            throw new ImageError("internal", "the unpack process answers wrongly");
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
