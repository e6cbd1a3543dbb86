import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { fromSystemError } from "../errors/image-error.ts";
import {
  compressionOf,
  type JobAnswer,
  type UnpackAnswer,
  type UnpackMessage,
  type UnpackRequest,
  unpackLayer,
} from "./unpack-layer.ts";

// Process that hashes blobs (in its main thread) and unpacks layers (in workers), away from the daemon's event loop
// and, in the jail, away from every file except those of images.

/** Maximum number of workers. Two inflate as fast as most registries send; each further one takes 16 MB. */
const maxWorkers = Math.min(2, availableParallelism());
/** Maximum number of zstd decoders. One is fast enough; each holds a window of 8 MB, or up to 128 MB in some images. */
const maxZstdDecoders = 1;

interface Job {
  readonly id: number;
  readonly request: UnpackRequest;
  readonly isZstd: boolean;
}

if (isMainThread) serveDaemon();
else serveThread();

function serveThread(): void {
  // Where fetch exists, the zstd decoder loads its code from a data: URL, which loads 5 MB of HTTP client.
  Reflect.deleteProperty(globalThis, "fetch");
  parentPort?.on("message", async ({ id, request }: Job) => {
    parentPort?.postMessage(await answerTo(id, unpackLayer(request)));
  });
}

function serveDaemon(): void {
  // File modes of an archive are exact: every file is created with its final mode.
  process.umask(0);
  const hashes = new Map<number, GrowingHash>();
  const queue: Job[] = [];
  const idle: Worker[] = [];
  const busy = new Map<number, { worker: Worker; job: Job }>();

  const send = (answer: UnpackAnswer) => process.send?.(answer, undefined, undefined, () => {});

  function startNext(): void {
    if (busy.size >= maxWorkers) return;
    const decoders = [...busy.values()].filter(({ job }) => job.isZstd).length;
    const index = queue.findIndex(({ isZstd }) => !isZstd || decoders < maxZstdDecoders);
    const [job] = index === -1 ? [] : queue.splice(index, 1);
    if (!job) return;
    const worker = idle.pop() ?? new Worker(new URL(import.meta.url));
    busy.set(job.id, { worker, job });
    worker.once("message", (answer: JobAnswer) => {
      busy.delete(job.id);
      worker.removeAllListeners("error");
      // A failed decoder may hold memory, which is freed with its thread.
      if (answer.kind === "failed") void worker.terminate();
      else idle.push(worker);
      send(answer);
      startNext();
    });
    worker.once("error", (error) => {
      busy.delete(job.id);
      worker.removeAllListeners("message");
      send(failed(job.id, error));
      startNext();
    });
    worker.postMessage(job);
  }

  async function cancel(id: number): Promise<void> {
    hashes.get(id)?.cancel();
    const waiting = queue.findIndex((job) => job.id === id);
    if (waiting !== -1) queue.splice(waiting, 1);
    const worker = busy.get(id)?.worker;
    worker?.removeAllListeners("message");
    worker?.removeAllListeners("error");
    await worker?.terminate();
    busy.delete(id);
    // Sent only when nothing writes any more, because the daemon then removes the staging directory.
    send({ kind: "failed", id, code: "cancelled", message: "cancelled" });
    startNext();
  }

  process.on("message", (message: UnpackMessage) => {
    switch (message.kind) {
      case "unpack":
        queue.push({ id: message.id, request: message.request, isZstd: isZstd(message.request.blob) });
        return startNext();
      case "hash": {
        const hash = createGrowingHash(message.file);
        hashes.set(message.id, hash);
        void hash.digest
          .then(
            (digest) => send({ kind: "hashed", id: message.id, digest }),
            (error) => send(failed(message.id, error)),
          )
          .finally(() => hashes.delete(message.id));
        return;
      }
      case "available":
        return hashes.get(message.id)?.advance(message.bytes, { last: message.last });
      case "cancel":
        return void cancel(message.id);
    }
  });
  send({ kind: "ready", jailed: process.env.KINDLING_JAILED === "yes" });
  // The daemon has exited.
  process.on("disconnect", () => process.exit(0));
}

function isZstd(blob: string): boolean {
  try {
    return compressionOf(blob) === "zstd";
  } catch {
    // Unpacking reports why the blob cannot be read.
    return false;
  }
}

async function answerTo(id: number, work: ReturnType<typeof unpackLayer>): Promise<JobAnswer> {
  try {
    return { kind: "unpacked", id, result: await work };
  } catch (error) {
    return failed(id, error);
  }
}

function failed(id: number, error: unknown): JobAnswer {
  const { code, message } = fromSystemError(error, "unpacking a layer");
  return { kind: "failed", id, code, message };
}

/** sha256 of a file that is still being written. */
export interface GrowingHash {
  /** Reports that so many bytes are in the file; `last` when it is complete. */
  advance(bytes: number, options: { last: boolean }): void;
  cancel(): void;
  readonly digest: Promise<string>;
}

const chunkBytes = 1 << 20;
/** Buffers that consecutive hashes share; forty layers would otherwise allocate forty. */
const buffers: Buffer[] = [];

export function createGrowingHash(file: string): GrowingHash {
  let available = 0;
  let ended = false;
  let cancelled = false;
  let wake: (() => void) | undefined;

  async function run(): Promise<string> {
    const hash = createHash("sha256");
    const buffer = buffers.pop() ?? Buffer.allocUnsafe(chunkBytes);
    let handle: FileHandle | undefined;
    let position = 0;
    try {
      for (;;) {
        if (cancelled) throw new Error("cancelled");
        if (position < available) {
          handle ??= await open(file);
          const length = Math.min(chunkBytes, available - position);
          const { bytesRead } = await handle.read(buffer, 0, length, position);
          if (bytesRead === 0) throw new Error(`${file} is shorter than it should be`);
          hash.update(buffer.subarray(0, bytesRead));
          position += bytesRead;
        } else if (ended) {
          return `sha256:${hash.digest("hex")}`;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      buffers.push(buffer);
      await handle?.close();
    }
  }

  function advance(bytes: number, { last }: { last: boolean }): void {
    available = Math.max(available, bytes);
    ended ||= last;
    wake?.();
  }

  return {
    advance,
    cancel() {
      cancelled = true;
      wake?.();
    },
    digest: run(),
  };
}
