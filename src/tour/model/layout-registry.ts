import { once } from "node:events";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../lib/clock.ts";
import { stoppable } from "../../lib/stoppable.ts";

export interface LayoutRegistry {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  close(): Promise<void>;
}

export interface LayoutRegistryOptions {
  /** OCI layout whose index has one image. */
  readonly layout: string;
  readonly bytesPerSecond: number;
  readonly clock: Clock;
}

/** Starts a read-only registry on loopback that serves one image under any name, at a limited rate. */
export async function serveLayout(options: LayoutRegistryOptions): Promise<LayoutRegistry> {
  const closing = new AbortController();
  const server = createServer((request, response) => {
    handle(request, response, { ...options, signal: closing.signal }).catch(() => response.destroy());
  });
  const stop = stoppable(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    host: `127.0.0.1:${port}`,
    async close() {
      closing.abort(new Error("the registry is stopping"));
      await stop();
    },
  };
}

const digestOf = /\/v2\/.+\/(manifests|blobs)\/(?:sha256:([0-9a-f]{64})|[\w.-]+)$/;

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  options: LayoutRegistryOptions & { signal: AbortSignal },
): Promise<void> {
  if (request.url === "/v2/") return void response.end("{}");
  const [, kind, hex] = digestOf.exec(request.url ?? "") ?? [];
  if (kind === "manifests") return sendManifest(response, options.layout);
  if (kind !== "blobs" || !hex) return void response.writeHead(404).end();
  await sendBlob(request, response, { ...options, path: join(options.layout, "blobs/sha256", hex) });
}

async function sendManifest(response: ServerResponse, layout: string): Promise<void> {
  const index: { manifests: { digest: string; mediaType: string }[] } = JSON.parse(
    await readFile(join(layout, "index.json"), "utf8"),
  );
  const [first] = index.manifests;
  if (!first) return void response.writeHead(404).end();
  const bytes = await readFile(join(layout, "blobs/sha256", first.digest.replace("sha256:", "")));
  response.writeHead(200, { "content-type": first.mediaType, "docker-content-digest": first.digest });
  response.end(bytes);
}

async function sendBlob(
  request: IncomingMessage,
  response: ServerResponse,
  { path, bytesPerSecond, clock, signal }: LayoutRegistryOptions & { path: string; signal: AbortSignal },
): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return void response.writeHead(404).end();
  const from = Math.min(Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0), found.size);
  response.writeHead(from > 0 ? 206 : 200, {
    "content-length": found.size - from,
    ...(from > 0 && { "content-range": `bytes ${from}-${found.size - 1}/${found.size}` }),
  });
  await pipeline(readThrottled(path, { from, bytesPerSecond, clock, signal }), response);
}

/** Reads a file in small chunks at a limited rate. */
async function* readThrottled(
  path: string,
  {
    from,
    bytesPerSecond,
    clock,
    signal,
  }: { from: number; bytesPerSecond: number; clock: Clock; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const chunksPerSecond = 20;
  const highWaterMark = Math.max(1, Math.round(bytesPerSecond / chunksPerSecond));
  for await (const chunk of createReadStream(path, { start: from, highWaterMark })) {
    yield chunk;
    await clock.sleep(1_000 / chunksPerSecond, signal);
  }
}
