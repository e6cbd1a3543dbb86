import { availableParallelism } from "node:os";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { fromSystemError } from "../image/image-error.ts";
import { compressionOf } from "./decompress.ts";
import { createGrowingHash, type GrowingHash } from "./growing-hash.ts";
import { type UnpackRequest, unpackLayer } from "./unpack-layer.ts";
import type { JobAnswer, UnpackAnswer, UnpackMessage } from "./unpack-messages.ts";

// The process in which blobs are hashed (its main thread) and layers unpacked (its workers), away from the daemon's
// event loop and, in the jail, away from every file but the images' own.

/** Two inflate as fast as most registries send; each more takes 16 MB. */
const maxWorkers = Math.min(2, availableParallelism());
/** One is fast enough, and each holds a window of 8 MB as a rule, of up to 128 where the image's author chose so. */
const maxZstdDecoders = 1;

interface Job {
  readonly id: number;
  readonly request: UnpackRequest;
  readonly isZstd: boolean;
}

if (isMainThread) serveDaemon();
else serveThread();

function serveThread(): void {
  // The zstd decoder takes its own code from a data: address where it can, which brings 5 MB of HTTP client with it.
  Reflect.deleteProperty(globalThis, "fetch");
  parentPort?.on("message", async ({ id, request }: Job) => {
    parentPort?.postMessage(await answerTo(id, unpackLayer(request)));
  });
}

function serveDaemon(): void {
  // Modes of an archive are exact; every file is opened with the mode it keeps.
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
      // A decoder that failed may hold memory: its thread goes with it.
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
    // Answered only when nothing writes any more: the daemon removes the staging directory next.
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
  // Its daemon is gone, however that came: so is the reason to be.
  process.on("disconnect", () => process.exit(0));
}

function isZstd(blob: string): boolean {
  try {
    return compressionOf(blob) === "zstd";
  } catch {
    // Whoever unpacks it says why it cannot be read.
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
