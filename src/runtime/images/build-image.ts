import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { digestOf, hexOf } from "../content/content-store.ts";
import { ImageError } from "../errors/image-error.ts";
import { hostPlatform, mediaTypes } from "../registry/manifest.ts";
import { packDirectory } from "../snapshots/tar-writer.ts";
import type { Image } from "./images.ts";
import { type ImportDeps, importArchive } from "./import-archive.ts";

export interface BuildOptions {
  /** Directory that becomes the image's only layer. */
  readonly directory: string;
  readonly tag: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
  readonly user?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly exposedPorts?: readonly string[];
  readonly signal?: AbortSignal;
}

/** Builds an image from a directory: packs it, writes an OCI layout, and imports that. */
export async function buildFromDirectory(deps: ImportDeps, options: BuildOptions): Promise<Image> {
  const staging = await deps.layers.stage();
  try {
    const layout = join(staging, "layout");
    await writeLayout(layout, options);
    const [image] = await importArchive(deps, layout, { tag: options.tag, signal: options.signal });
    if (!image) throw new ImageError("internal", "the built image was not imported");
    return image;
  } finally {
    await deps.layers.discard(staging);
  }
}

/** Writes an OCI image layout with one image of one layer. */
export async function writeLayout(layout: string, options: BuildOptions): Promise<void> {
  const blobs = join(layout, "blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const hash = createHash("sha256");
  let size = 0;
  const layerFile = join(blobs, "layer");
  await pipeline(
    packDirectory(options.directory),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(layerFile),
  );
  const layerDigest = `sha256:${hash.digest("hex")}`;
  await rename(layerFile, join(blobs, hexOf(layerDigest)));

  const write = async (value: unknown) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const digest = digestOf(bytes);
    await writeFile(join(blobs, hexOf(digest)), bytes);
    return { digest, size: bytes.length };
  };
  const { os, architecture } = hostPlatform;
  const config = await write({
    os,
    architecture,
    config: {
      User: options.user,
      Env: options.env ?? ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      Entrypoint: options.entrypoint,
      Cmd: options.command,
      WorkingDir: options.workingDir,
      Labels: options.labels,
      ExposedPorts:
        options.exposedPorts && Object.fromEntries(options.exposedPorts.map((port) => [port, {}])),
    },
    rootfs: { type: "layers", diff_ids: [layerDigest] },
  });
  const manifest = await write({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: { mediaType: mediaTypes.ociConfig, ...config },
    layers: [{ mediaType: mediaTypes.ociLayer, digest: layerDigest, size }],
  });
  await writeFile(
    join(layout, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [{ mediaType: mediaTypes.ociManifest, ...manifest }] }),
  );
  await writeFile(join(layout, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
}
