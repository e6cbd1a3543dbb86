import { constants, copyFile, link, readFile, realpath, rm, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { formatImageName, repositoryName } from "../../lib/image/image-name.ts";
import { type ContentStore, digestOf, hexOf } from "../content/content-store.ts";
import { ImageError } from "../errors/image-error.ts";
import { choosePlatform, hostPlatform, parseManifest } from "../registry/manifest.ts";
import { parseReference } from "../registry/reference.ts";
import type { LayerStore } from "../snapshots/layer-store.ts";
import type { UnpackLimits, UnpackResult } from "../snapshots/unpack-layer.ts";
import type { UnpackPool } from "../snapshots/unpack-pool.ts";
import type { ImageRecord } from "./image-records.ts";
import { type Image, parseImageConfig } from "./images.ts";

export interface ImportDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly pool: UnpackPool;
  readonly clock: Clock;
  readonly limits: () => Promise<UnpackLimits>;
  readonly lease: (diffIds: readonly string[]) => () => void;
  readonly save: (record: ImageRecord) => Promise<ImageRecord>;
}

/** Imports the images of a docker-archive or OCI layout. A tar file is unpacked first, with the checks of a layer. */
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

/** Imports a layer and returns the size of its archive. */
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

/** Unpacks a file. The unpack process sees only the staging directory, so the file is linked or copied there. */
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

/** Files of one image in an archive. */
interface ArchivedImage {
  readonly configFile: string;
  readonly configDigest?: string;
  readonly manifestDigest?: string;
  /** Files of the layers, lowest first. */
  readonly layerFiles: readonly string[];
  readonly tags: readonly string[];
}

const maxIndexDepth = 3;

/**
 * Reads the images of an unpacked docker-archive or OCI layout. `docker save` writes both; its own format has the tags.
 */
async function readArchive(directory: string): Promise<ArchivedImage[]> {
  const docker = await readJson(join(directory, "manifest.json"));
  if (Array.isArray(docker)) return Promise.all(docker.map((entry) => readDockerImage(directory, entry)));
  const index = await readJson(join(directory, "index.json"));
  if (index === undefined) {
    throw new ImageError(
      "invalidArchive",
      "neither a docker-archive (manifest.json) nor an OCI layout (index.json)",
    );
  }
  return readIndex(directory, JSON.stringify(index), 0);
}

async function readDockerImage(directory: string, entry: unknown): Promise<ArchivedImage> {
  const { Config, RepoTags, Layers } = (entry ?? {}) as Record<string, unknown>;
  if (typeof Config !== "string" || !isStrings(Layers)) {
    throw new ImageError("invalidArchive", "manifest.json names no configuration or layers");
  }
  return {
    configFile: await inside(directory, Config),
    layerFiles: await Promise.all(Layers.map((layer) => inside(directory, layer))),
    tags: isStrings(RepoTags) ? RepoTags : [],
  };
}

async function readIndex(directory: string, text: string, depth: number): Promise<ArchivedImage[]> {
  const parsed = parseManifest(text);
  if (parsed.kind !== "index" || depth > maxIndexDepth) {
    throw new ImageError("invalidArchive", "index.json is not an index of images");
  }
  const annotations = (JSON.parse(text) as { manifests: { annotations?: Record<string, string> }[] })
    .manifests;
  const entries = parsed.entries.map((entry, i) => ({
    ...entry,
    annotations: annotations[i]?.annotations ?? {},
  }));
  // Entries that all have a platform are variants of one image; otherwise each entry is an image.
  const chosen = entries.every(({ platform }) => platform)
    ? [choosePlatform(entries, hostPlatform)]
    : entries;
  const images: ArchivedImage[] = [];
  for (const entry of chosen) {
    if (!entry)
      throw new ImageError("unsupported", `the archive has no image for ${hostPlatform.architecture}`);
    const blob = (digest: string) => inside(directory, join("blobs/sha256", hexOf(digest)));
    const manifestText = await readFile(await blob(entry.digest), "utf8");
    const manifest = parseManifest(manifestText, entry.mediaType);
    if (manifest.kind === "index") {
      images.push(...(await readIndex(directory, manifestText, depth + 1)));
      continue;
    }
    images.push({
      configFile: await blob(manifest.config.digest),
      configDigest: manifest.config.digest,
      manifestDigest: entry.digest,
      layerFiles: await Promise.all(manifest.layers.map(({ digest }) => blob(digest))),
      tags: tagsOf(entry.annotations),
    });
  }
  return images;
}

/** Tags of an image. containerd and podman write whole names; others write only a tag, which names no image. */
function tagsOf(annotations: Record<string, string>): string[] {
  const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
  return name !== undefined && /[/:]/.test(name) ? [name] : [];
}

/**
 * Path of a file of the archive. Archives contain links (docker's to share layers); one that leads outside is rejected.
 */
async function inside(directory: string, path: string): Promise<string> {
  const root = await realpath(directory);
  const found = await realpath(join(root, path)).catch(() => undefined);
  if (found === undefined)
    throw new ImageError("invalidArchive", `the archive lacks ${JSON.stringify(path)}`);
  if (!found.startsWith(root + sep)) {
    throw new ImageError("invalidArchive", `the archive names a file outside of it: ${JSON.stringify(path)}`);
  }
  return found;
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new ImageError("invalidArchive", `${file} is not JSON`);
  }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
