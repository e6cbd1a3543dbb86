import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { messageOf } from "../lib/message-of.ts";
import type { BuildOptions } from "./image/build-image.ts";
import type { Image } from "./image/images.ts";

// CRI has no call for images that come from a file. `kindling runtime import` and `build` ask the running daemon over
// a socket of its own in the data directory, which only its owner can open.

export type ImageOrder =
  | { readonly kind: "import"; readonly path: string; readonly tag?: string }
  | { readonly kind: "build"; readonly options: BuildOptions };

export interface MadeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
}

/** What both the daemon and a command without one do with an order. */
export interface ImageMaker {
  importArchive(path: string, options?: { tag?: string }): Promise<Image[]>;
  buildFromDirectory(options: BuildOptions): Promise<Image>;
}

export async function makeImages(maker: ImageMaker, order: ImageOrder): Promise<MadeImage[]> {
  const images =
    order.kind === "import"
      ? await maker.importArchive(order.path, { tag: order.tag })
      : [await maker.buildFromDirectory(order.options)];
  return images.map(({ id, repoTags }) => ({ id, repoTags }));
}

const socketPath = (dataDir: string) => join(dataDir, "control.sock");

export async function serveControl(dataDir: string, maker: ImageMaker): Promise<{ close(): Promise<void> }> {
  const server = createServer(async (incoming, response) => {
    try {
      const order: ImageOrder = JSON.parse(await readBody(incoming));
      const made = await makeImages(maker, order);
      response.end(JSON.stringify(made));
    } catch (error) {
      response.writeHead(500).end(messageOf(error));
    }
  });
  // Whoever holds the data directory may replace what an earlier daemon left.
  await rm(socketPath(dataDir), { force: true });
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(socketPath(dataDir), resolve);
    });
  } finally {
    process.umask(before);
  }
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Gives an order to the daemon of a data directory; undefined when none runs there. */
export function orderFromDaemon(dataDir: string, order: ImageOrder): Promise<MadeImage[] | undefined> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: socketPath(dataDir), method: "POST", path: "/" }, (response) => {
      readBody(response).then((body) => {
        if (response.statusCode === 200) resolve(JSON.parse(body));
        else reject(new Error(body));
      }, reject);
    });
    call.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ECONNREFUSED") resolve(undefined);
      else reject(error);
    });
    call.end(JSON.stringify(order));
  });
}

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
