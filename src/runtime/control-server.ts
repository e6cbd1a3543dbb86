import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { join } from "node:path";
import { messageOf } from "../lib/message-of.ts";
import { createTaskGroup } from "../lib/task-group.ts";
import type { BuildOptions } from "./images/build-image.ts";
import type { Image } from "./images/images.ts";

// CRI has no call for images from files. `kindling runtime import` and `build` send a request to the running daemon
// over its own socket in the data directory, which only its owner can open.

export type ImageOrder =
  | { readonly kind: "import"; readonly path: string; readonly tag?: string }
  | { readonly kind: "build"; readonly options: BuildOptions };

export interface MadeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
}

/** Creates images, for the daemon and for a command that runs without one. */
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
  const orders = createTaskGroup();
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const order: ImageOrder = JSON.parse(await readBody(incoming));
      const made = await makeImages(maker, order);
      response.end(JSON.stringify(made));
    } catch (error) {
      response.writeHead(500).end(messageOf(error));
    }
  }
  const server = createServer((incoming, response) => orders.add(handle(incoming, response)));
  // The holder of the data directory may replace the socket of an earlier daemon.
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
  return {
    async close() {
      await new Promise((resolve) => server.close(resolve));
      // An order continues after its client has disconnected.
      await orders.settled();
    },
  };
}

/** Sends a request to the daemon of a data directory. Undefined if none is running. */
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
