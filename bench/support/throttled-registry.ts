import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mediaTypes } from "../../src/runtime/registry/manifest.ts";
import { emptyArchiveEnd, formatHeader } from "../../src/runtime/snapshots/tar-writer.ts";

/** Registry on loopback that sends each layer at a constant rate. Layers contain one file of zeros, and no two are equal. */
export interface ThrottledRegistry {
  /** Names of the images. */
  readonly images: readonly string[];
  stop(): Promise<void>;
}

interface Layer {
  readonly header: Buffer;
  readonly digest: string;
  readonly size: number;
}

export async function startThrottledRegistry(options: {
  readonly images: number;
  readonly layers: number;
  readonly layerBytes: number;
  readonly bytesPerSecond: number;
}): Promise<ThrottledRegistry> {
  const zeros = Buffer.alloc(options.layerBytes);
  const blobs = new Map<string, Buffer>();
  const layers = new Map<string, Layer>();
  const manifests = new Map<string, string>();
  const addBlob = (bytes: Buffer) => {
    const digest = `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
    blobs.set(digest, bytes);
    return { digest, size: bytes.length };
  };
  for (let image = 0; image < options.images; image++) {
    const own = Array.from({ length: options.layers }, (_, i): Layer => {
      const header = formatHeader({ name: `file-${image}-${i}`, type: "file", size: zeros.length });
      const hash = createHash("sha256").update(header).update(zeros).update(emptyArchiveEnd);
      const size = header.length + zeros.length + emptyArchiveEnd.length;
      return { header, digest: `sha256:${hash.digest("hex")}`, size };
    });
    for (const layer of own) layers.set(layer.digest, layer);
    const diffIds = own.map(({ digest }) => digest);
    const config = addBlob(Buffer.from(JSON.stringify({ rootfs: { type: "layers", diff_ids: diffIds } })));
    const manifest = {
      schemaVersion: 2,
      mediaType: mediaTypes.ociManifest,
      config: { mediaType: mediaTypes.ociConfig, ...config },
      layers: own.map(({ digest, size }) => ({ mediaType: mediaTypes.ociLayer, digest, size })),
    };
    manifests.set(`app-${image}`, addBlob(Buffer.from(JSON.stringify(manifest))).digest);
  }

  function send(response: ServerResponse, { header, size }: Layer): void {
    response.writeHead(200, { "content-length": size });
    response.write(header);
    let sent = 0;
    const timer = setInterval(() => {
      const next = Math.min(zeros.length, sent + options.bytesPerSecond);
      response.write(zeros.subarray(sent, next));
      sent = next;
      if (sent < zeros.length) return;
      clearInterval(timer);
      response.end(emptyArchiveEnd);
    }, 1_000);
    response.on("close", () => clearInterval(timer));
  }

  const server = createServer((request, response) => {
    const [, repository = "", kind = "", name = ""] =
      /^\/v2\/([^/]+)\/(manifests|blobs)\/([^?]+)/.exec(request.url ?? "") ?? [];
    const layer = layers.get(name);
    if (layer) return send(response, layer);
    const digest = kind === "manifests" && !name.includes(":") ? (manifests.get(repository) ?? "") : name;
    const blob = blobs.get(digest);
    if (!blob) return response.writeHead(request.url === "/v2/" ? 200 : 404).end();
    const type = kind === "manifests" ? mediaTypes.ociManifest : "application/octet-stream";
    response.writeHead(200, {
      "content-type": type,
      "content-length": blob.length,
      "docker-content-digest": digest,
    });
    response.end(request.method === "HEAD" ? undefined : blob);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    images: [...manifests.keys()].map((name) => `127.0.0.1:${port}/${name}:1`),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
