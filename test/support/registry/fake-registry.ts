import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { mediaTypes } from "../../../src/runtime/registry/manifest.ts";
import { emptyArchiveEnd, formatHeader, pad } from "../../../src/runtime/snapshots/tar-writer.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** A registry with one image whose misbehaviour is a function: true means that it has answered. */
export interface FakeRegistry {
  readonly host: string;
  readonly reference: string;
  readonly manifestDigest: string;
  readonly layers: readonly { digest: string; bytes: Buffer }[];
  /** Requested paths with methods and ranges. */
  readonly requests: { path: string; range?: string; authorization?: string }[];
  stop(): Promise<void>;
}

export interface FakeRegistryOptions {
  /** Uncompressed layers; the archives themselves. */
  readonly layers: readonly Buffer[];
  readonly handle?: Handler;
  /** Serves HTTPS then. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Wrong values of a layer: digest and size in the manifest, diff_id in the configuration. */
  readonly lie?: { digest?: string; size?: number; diffId?: string };
}

export async function startFakeRegistry(options: FakeRegistryOptions): Promise<FakeRegistry> {
  const blobs = new Map<string, Buffer>();
  const add = (bytes: Buffer) => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { digest, size: bytes.length };
  };
  const layers = options.layers.map((bytes) => ({ mediaType: mediaTypes.ociLayer, ...add(bytes) }));
  const { diffId, ...descriptorLie } = options.lie ?? {};
  if (descriptorLie.digest) blobs.set(descriptorLie.digest, options.layers[0] ?? Buffer.alloc(0));
  const config = add(
    Buffer.from(JSON.stringify({ rootfs: { diff_ids: layers.map(({ digest }) => diffId ?? digest) } })),
  );
  const manifest = add(
    Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: mediaTypes.ociManifest,
        config: { mediaType: mediaTypes.ociConfig, ...config },
        layers: layers.map((layer) => ({ ...layer, ...descriptorLie })),
      }),
    ),
  );
  const requests: FakeRegistry["requests"] = [];

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    void (async () => {
      const path = request.url ?? "";
      requests.push({ path, range: request.headers.range, authorization: request.headers.authorization });
      if (options.handle && (await options.handle(request, response))) return;
      if (path.startsWith("/v2/app/manifests/")) {
        response.setHeader("content-type", mediaTypes.ociManifest);
        response.end(blobs.get(manifest.digest));
        return;
      }
      // Query parameters are ignored, as by registries that do not know them.
      const blob = blobs.get(path.replace(/\?.*$/, "").split("/").at(-1) ?? "");
      if (blob) serveBlob(request, response, blob);
      else response.writeHead(404).end();
    })();
  };
  const server = options.tls ? createSecureServer(options.tls, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    reference: `${host}/app:v1`,
    manifestDigest: manifest.digest,
    layers: layers.map(({ digest }, i) => ({ digest, bytes: options.layers[i] ?? Buffer.alloc(0) })),
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** With ranges, as a proper registry does. */
export function serveBlob(request: IncomingMessage, response: ServerResponse, blob: Buffer): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  const headers = { "content-length": blob.length - start };
  if (start > 0) {
    response.writeHead(206, {
      ...headers,
      "content-range": `bytes ${start}-${blob.length - 1}/${blob.length}`,
    });
  } else {
    response.writeHead(200, headers);
  }
  response.end(blob.subarray(start));
}

/** A layer of one file with the given content. */
export function layerOf(name: string, content: Buffer | string): Buffer {
  const data = Buffer.from(content);
  return Buffer.concat([formatHeader({ name, type: "file", size: data.length }), pad(data), emptyArchiveEnd]);
}

export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
