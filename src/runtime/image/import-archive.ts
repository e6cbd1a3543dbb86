import { constants, copyFile, link, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { formatImageName, repositoryName } from "../../lib/image-name.ts";
import type { ContentStore } from "../content/content-store.ts";
import { digestOf } from "../content/digest-of.ts";
import { parseReference } from "../registry/reference.ts";
import type { LayerStore } from "../snapshot/layer-store.ts";
import type { UnpackLimits, UnpackResult } from "../snapshot/unpack-layer.ts";
import type { UnpackPool } from "../snapshot/unpack-pool.ts";
import { type ArchivedImage, readArchive } from "./archive-layout.ts";
import { parseImageConfig } from "./image-config.ts";
import { ImageError } from "./image-error.ts";
import type { ImageRecord } from "./image-records.ts";
import type { Image } from "./images.ts";

export interface ImportDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly pool: UnpackPool;
  readonly clock: Clock;
  readonly limits: () => Promise<UnpackLimits>;
  readonly lease: (diffIds: readonly string[]) => () => void;
  readonly save: (record: ImageRecord) => Promise<ImageRecord>;
}

/** Takes in the images of a docker-archive or OCI layout; a tar file is unpacked first, as hostile as any layer. */
export async function importArchive(
  deps: ImportDeps,
  path: string,
  options: { tag?: string; signal?: AbortSignal } = {},
): Promise<Image[]> {
  const signal = options.signal ?? new AbortController().signal;
  const found = await stat(path).catch(() => undefined);
  if (!found) throw new ImageError("notFound", `${path} does not exist`);
  if (found.isDirectory()) return importDirectory(deps, path, { ...options, signal });
  const staging = await deps.layers.stage();
  try {
    await unpackFile(deps, { file: path, name: path, staging, signal });
    return await importDirectory(deps, join(staging, "fs"), { ...options, signal });
  } finally {
    await deps.layers.discard(staging);
  }
}

async function importDirectory(
  deps: ImportDeps,
  directory: string,
  options: { tag?: string; signal: AbortSignal },
): Promise<Image[]> {
  const images: Image[] = [];
  const archived = await readArchive(directory);
  if (options.tag !== undefined && archived.length > 1) {
    throw new ImageError("unsupported", `a tag names one image; the archive has ${archived.length}`);
  }
  for (const image of archived) images.push(await importImage(deps, image, options));
  return images;
}

async function importImage(
  deps: ImportDeps,
  archived: ArchivedImage,
  { tag, signal }: { tag?: string; signal: AbortSignal },
): Promise<Image> {
  const bytes = await readFile(archived.configFile);
  const id = digestOf(bytes);
  if (archived.configDigest !== undefined && archived.configDigest !== id) {
    throw new ImageError(
      "digestMismatch",
      `the configuration has digest ${id}, not ${archived.configDigest}`,
    );
  }
  const { config, diffIds } = parseImageConfig(bytes.toString("utf8"));
  if (diffIds.length !== archived.layerFiles.length) {
    throw new ImageError(
      "invalidArchive",
      `the archive has ${archived.layerFiles.length} layers, the configuration ${diffIds.length}`,
    );
  }
  const references = (tag === undefined ? archived.tags : [tag]).map(parseReference);
  const release = deps.lease(diffIds);
  try {
    const sizes = await Promise.all(
      archived.layerFiles.map((file, i) => importLayer(deps, { file, diffId: diffIds[i] ?? "", signal })),
    );
    await deps.content.write(id, bytes);
    return await deps.save({
      id,
      repoTags: references.map(formatImageName),
      repoDigests:
        archived.manifestDigest === undefined
          ? []
          : references.map((reference) => `${repositoryName(reference)}@${archived.manifestDigest}`),
      size: sizes.reduce((sum, size) => sum + size, bytes.length),
      pinned: false,
      config,
      diffIds,
      blobs: [id],
    });
  } finally {
    release();
  }
}

/** Answers with the size of the archive. */
async function importLayer(
  deps: ImportDeps,
  { file, diffId, signal }: { file: string; diffId: string; signal: AbortSignal },
): Promise<number> {
  const { size } = await stat(file);
  if (deps.layers.find(diffId)) return size;
  const staging = await deps.layers.stage();
  try {
    const result = await unpackFile(deps, { file, name: `layer ${diffId}`, staging, signal });
    if (result.diffId !== diffId) {
      throw new ImageError(
        "digestMismatch",
        `a layer unpacks to ${result.diffId}, the configuration says ${diffId}`,
      );
    }
    await deps.layers.commit(staging, result, deps.clock.now());
    return size;
  } catch (error) {
    await deps.layers.discard(staging);
    throw error;
  }
}

/** The unpack process sees the staging directory only: the file is linked there, or copied from another disk. */
async function unpackFile(
  deps: ImportDeps,
  { file, name, staging, signal }: { file: string; name: string; staging: string; signal: AbortSignal },
): Promise<UnpackResult> {
  const blob = join(staging, "archive");
  await link(file, blob).catch(() => copyFile(file, blob, constants.COPYFILE_FICLONE));
  const result = await deps.pool.unpack({ blob, name, staging, limits: await deps.limits() }, signal);
  await rm(blob, { force: true });
  return result;
}
