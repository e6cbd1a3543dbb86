import { createWriteStream } from "node:fs";
import { stat, truncate } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../lib/clock.ts";
import { fromSystemError, ImageError } from "../image/image-error.ts";
import { freeUsedBuffers } from "../process/free-used-buffers.ts";
import type { Descriptor } from "./manifest.ts";
import type { RegistryClient } from "./registry-client.ts";
import { retryTransient } from "./retry-transient.ts";
import type { HttpResponse } from "./transport.ts";

export interface DownloadOptions {
  readonly client: RegistryClient;
  readonly descriptor: Descriptor;
  /** What an earlier try left here is gone on from. */
  readonly file: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How much of the blob has arrived, in all; falls when a server begins again from the start. */
  readonly onReceived: (bytes: number) => void;
  /** How much of it is in the file. */
  readonly onWritten: (bytes: number) => void;
}

const writeBufferBytes = 2 << 20;
/**
 * After so much others have their turn: a reader that takes each piece at once is given 32 more in the same turn of the
 * event loop, which from a fast registry holds an API server in this process up for 10 ms.
 */
const turnBytes = 256 << 10;

/** The blob's bytes, all of them, in the file; whether they are the right ones is for the digest to say. */
export async function downloadBlob(options: DownloadOptions): Promise<void> {
  const { client, descriptor, file, clock, signal } = options;
  const { digest, size } = descriptor;
  let received = Math.min(await sizeOf(file), size);

  async function attempt(): Promise<void> {
    received = await sizeOf(file);
    if (received > size) {
      await truncate(file, 0);
      received = 0;
    }
    options.onReceived(received);
    options.onWritten(received);
    if (received === size) return;
    const response = await client.blob({ digest, offset: received, signal });
    const start = startOf(response, received);
    if (start !== received) {
      // The server does not do ranges, or has other ideas: from the beginning.
      response.body.once("error", () => {});
      if (start !== 0) response.body.destroy();
      await truncate(file, 0).catch(ignoreMissing);
      received = 0;
      options.onReceived(0);
      if (start !== 0) throw new ImageError("network", `the registry cannot go on within ${digest}`);
    }
    checkLength(response, received);
    await receive(response);
    if (received < size)
      throw new ImageError("network", `${digest} was cut after ${received} of ${size} bytes`);
  }

  /** A length told beforehand that does not fit is not worth a download. */
  function checkLength({ headers, body }: HttpResponse, start: number): void {
    const told = headers["content-length"];
    if (told === undefined || Number(told) === size - start) return;
    body.destroy();
    throw wrongLength(digest, `${start + Number(told)} bytes`, size);
  }

  async function receive({ body }: HttpResponse): Promise<void> {
    const output = createWriteStream(file, { flags: "a", highWaterMark: writeBufferBytes });
    const before = received;
    let turnEnds = received + turnBytes;
    const closed = finished(output).catch((error) => {
      body.destroy();
      throw fromSystemError(error, `writing ${file}`);
    });
    // Awaited below; a failure before that must not count as unhandled.
    closed.catch(() => {});
    try {
      for await (const chunk of body) {
        received += chunk.length;
        if (received > size) throw wrongLength(digest, `more than ${size} bytes`, size);
        options.onReceived(received);
        const roomy = output.write(chunk, () => options.onWritten(before + output.bytesWritten));
        freeUsedBuffers(chunk.length);
        if (!roomy) await Promise.race([drained(output), closed]);
        if (received < turnEnds) continue;
        await setImmediate();
        turnEnds = received + turnBytes;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ImageError) throw error;
      throw new ImageError(
        "network",
        `the connection was cut in ${digest} after ${received} of ${size} bytes`,
        {
          cause: error,
        },
      );
    } finally {
      body.destroy();
      output.end();
      await closed;
    }
  }

  try {
    await retryTransient(attempt, { clock, signal, progress: () => received });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** Where the answer's bytes begin. */
function startOf({ status, headers }: HttpResponse, asked: number): number {
  if (status === 200) return 0;
  if (status === 416) return -1;
  const told = /^bytes (\d+)-/.exec(headers["content-range"] ?? "")?.[1];
  return told === undefined ? asked : Number(told) === asked ? asked : -1;
}

function wrongLength(digest: string, found: string, size: number): ImageError {
  return new ImageError(
    "digestMismatch",
    `${digest} has ${found}, its manifest says ${size}; push the image again`,
  );
}

function drained(output: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => output.once("drain", () => resolve()));
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

function ignoreMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}
