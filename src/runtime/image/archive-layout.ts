import { readFile, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { hexOf } from "../content/content-store.ts";
import { parseManifest } from "../registry/manifest.ts";
import { choosePlatform, hostPlatform } from "../registry/platform.ts";
import { ImageError } from "./image-error.ts";

/** One image as an archive has it: the files it is in. */
export interface ArchivedImage {
  readonly configFile: string;
  readonly configDigest?: string;
  readonly manifestDigest?: string;
  /** Lowest first. */
  readonly layerFiles: readonly string[];
  readonly tags: readonly string[];
}

const maxIndexDepth = 3;

/** The images of an unpacked docker-archive or OCI layout. `docker save` writes both: its own has the tags. */
export async function readArchive(directory: string): Promise<ArchivedImage[]> {
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
  if (typeof Config !== "string" || !isTexts(Layers)) {
    throw new ImageError("invalidArchive", "manifest.json names no configuration or layers");
  }
  return {
    configFile: await inside(directory, Config),
    layerFiles: await Promise.all(Layers.map((layer) => inside(directory, layer))),
    tags: isTexts(RepoTags) ? RepoTags : [],
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
  // Images for several platforms are one image; images without a platform are several.
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

/** containerd and podman write whole names; others a bare tag, which names nothing. */
function tagsOf(annotations: Record<string, string>): string[] {
  const name = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
  return name !== undefined && /[/:]/.test(name) ? [name] : [];
}

/** A file of the archive. Archives have links (docker's share layers so): one that leads outside is refused. */
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

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
