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

const idleMs = 10_000;

export function createUnpackPool(options: {
  command: readonly string[];
  /** The process runs; told whether the kernel confines it. */
  onReady?: (facts: { jailed: boolean }) => void;
}): UnpackPool {
  const waiting = new Map<number, { resolve(answer: JobAnswer): void; reject(error: unknown): void }>();
  let child: ChildProcess | undefined;
  let nextId = 1;
  let idleTimer: NodeJS.Timeout | undefined;

  function ensureChild(): ChildProcess {
    clearTimeout(idleTimer);
    if (child) return child;
    const [program = process.execPath, ...args] = options.command;
    const started = spawn(program, args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      // glibc keeps an arena per thread otherwise, each as big as its thread ever needed.
      // Nothing else of the daemon's environment: it may hold secrets, and names files that the jail does not have.
      env: { PATH: process.env.PATH, MALLOC_ARENA_MAX: "2", UV_THREADPOOL_SIZE: "4" },
    });
    child = started;
    started.on("message", (answer: UnpackAnswer) => {
      if (answer.kind === "ready") options.onReady?.(answer);
      else settle(answer);
    });
    const gone = (why: string) => {
      if (child === started) child = undefined;
      const error = new ImageError("internal", `the unpack process ended: ${why}`);
      for (const [id, { reject }] of waiting) {
        waiting.delete(id);
        reject(error);
      }
    };
    started.on("error", (error) => gone(error.message));
    started.on("exit", (code, signal) => gone(signal ?? `exit code ${code}`));
    return started;
  }

  function settle(answer: JobAnswer): void {
    const entry = waiting.get(answer.id);
    waiting.delete(answer.id);
    if (answer.kind === "failed") entry?.reject(new ImageError(answer.code, answer.message));
    else entry?.resolve(answer);
    if (waiting.size === 0) idleTimer = setTimeout(stopChild, idleMs).unref();
  }

  function stopChild(): void {
    if (child?.connected) child.disconnect();
    child = undefined;
  }

  function post(message: UnpackMessage): void {
    // A process that is going is noticed by its exit, not by what can no longer be sent to it.
    if (child?.connected) child.send(message, () => {});
  }

  /** The answer to a message, once the process has let go of the work when the signal aborts. */
  function ask(message: UnpackMessage, signal: AbortSignal): Promise<JobAnswer> {
    const answer = new Promise<JobAnswer>((resolve, reject) => {
      signal.throwIfAborted();
      ensureChild();
      waiting.set(message.id, { resolve, reject });
      post(message);
    });
    const onAbort = () => post({ kind: "cancel", id: message.id });
    signal.addEventListener("abort", onAbort, { once: true });
    return answer
      .then(
        (value) => value,
        (error) => {
          throw signal.aborted ? signal.reason : error;
        },
      )
      .finally(() => signal.removeEventListener("abort", onAbort));
  }

  return {
    async unpack(request, signal) {
      const answer = await ask({ kind: "unpack", id: nextId++, request }, signal);
      if (answer.kind !== "unpacked") throw new ImageError("internal", "the unpack process answers wrongly");
      return answer.result;
    },
    hash(file, signal) {
      const id = nextId++;
      const answer = ask({ kind: "hash", id, file }, signal);
      // Whoever never asks for the digest is not told that there is none.
      answer.catch(() => {});
      return {
        advance: (bytes) => post({ kind: "available", id, bytes, last: false }),
        async finish(bytes) {
          post({ kind: "available", id, bytes, last: true });
          const hashed = await answer;
          if (hashed.kind !== "hashed")
            throw new ImageError("internal", "the unpack process answers wrongly");
          return hashed.digest;
        },
      };
    },
    warm() {
      ensureChild();
      if (waiting.size === 0) idleTimer = setTimeout(stopChild, idleMs).unref();
    },
    async close() {
      clearTimeout(idleTimer);
      const ending = child;
      stopChild();
      if (ending && ending.exitCode === null && ending.signalCode === null) {
        await new Promise<void>((resolve) => ending.once("exit", () => resolve()));
      }
    },
  };
}
