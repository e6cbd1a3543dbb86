import { createWriteStream } from "node:fs";
import { stat, truncate } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../lib/clock.ts";
import { freeUsedBuffers } from "../../lib/process/free-used-buffers.ts";
import { fromSystemError, ImageError } from "../errors/image-error.ts";
import type { Descriptor } from "./manifest.ts";
import type { RegistryClient } from "./registry-client.ts";
import { type RestartableTransfer, retryTransient } from "./transfer.ts";
import type { HttpResponse } from "./transport.ts";

export interface DownloadOptions {
  readonly client: Pick<RegistryClient, "blob">;
  readonly transfer: RestartableTransfer;
  readonly descriptor: Descriptor;
  /** File to write to. Resumes the partial download that an earlier attempt left. */
  readonly file: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Reports how many bytes of the blob have been received. The number falls when a server starts from the beginning.
   */
  readonly onReceived: (bytes: number) => void;
  /** Reports how many bytes are in the file. */
  readonly onWritten: (bytes: number) => void;
  /** Reports that the file was truncated: bytes written before do not count. */
  readonly onTruncated: () => void;
}

const writeBufferBytes = 2 << 20;
/**
 * Bytes after which the download yields to the event loop. A reader that consumes each chunk at once gets 32 more in
 * the same turn, which with a fast registry blocks an API server in this process for 10 ms.
 */
const turnBytes = 256 << 10;

/** Downloads the blob into the file. The caller verifies its digest. */
export async function downloadBlob(options: DownloadOptions): Promise<void> {
  const { client, transfer, descriptor, file, clock } = options;
  const { digest, size } = descriptor;
  let received = Math.min(await sizeOf(file), size);

  async function startOver(): Promise<void> {
    await truncate(file, 0).catch(ignoreMissing);
    received = 0;
    options.onTruncated();
  }

  async function attempt(signal: AbortSignal): Promise<void> {
    received = await sizeOf(file);
    if (received > size) await startOver();
    options.onReceived(received);
    options.onWritten(received);
    if (received === size) return;
    const response = await transfer.request(
      (requestSignal) =>
        client.blob({ digest, offset: received, signal: requestSignal, onActivity: transfer.touch }),
      signal,
    );
    const start = startOf(response, received);
    if (start !== received) {
      // The server does not support ranges, or sent another one: start from the beginning.
      response.body.once("error", () => {});
      if (start !== 0) response.body.destroy();
      await startOver();
      options.onReceived(0);
      if (start !== 0) throw new ImageError("network", `the registry cannot resume ${digest}`);
    }
    checkLength(response, received);
    await receive(response, signal);
    if (received < size)
      throw new ImageError("network", `${digest} was cut after ${received} of ${size} bytes`);
  }

  /** Fails early when the announced length differs from the manifest's. */
  function checkLength({ headers, body }: HttpResponse, start: number): void {
    const announced = headers["content-length"];
    if (announced === undefined || Number(announced) === size - start) return;
    body.destroy();
    throw wrongLength(digest, `${start + Number(announced)} bytes`, size);
  }

  async function receive({ body }: HttpResponse, signal: AbortSignal): Promise<void> {
    const output = createWriteStream(file, { flags: "a", highWaterMark: writeBufferBytes });
    const before = received;
    let turnEnds = received + turnBytes;
    const closed = finished(output).catch((error) => {
      body.destroy();
      throw fromSystemError(error, `writing ${file}`);
    });
    // Awaited below; an earlier failure must not become an unhandled rejection.
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
    await retryTransient(() => transfer.attempt(attempt, options.signal), {
      clock,
      signal: options.signal,
      progress: () => received,
    });
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  }
}

/** Offset at which the body starts. */
function startOf({ status, headers }: HttpResponse, asked: number): number {
  if (status === 200) return 0;
  if (status === 416) return -1;
  const announced = /^bytes (\d+)-/.exec(headers["content-range"] ?? "")?.[1];
  return announced === undefined ? asked : Number(announced) === asked ? asked : -1;
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
