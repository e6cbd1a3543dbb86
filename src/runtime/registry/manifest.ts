import { ImageError } from "../image/image-error.ts";
import type { Platform } from "./platform.ts";
import { isDigest } from "./reference.ts";

export const mediaTypes = {
  ociManifest: "application/vnd.oci.image.manifest.v1+json",
  ociIndex: "application/vnd.oci.image.index.v1+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  ociConfig: "application/vnd.oci.image.config.v1+json",
  ociLayerGzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  ociLayer: "application/vnd.oci.image.layer.v1.tar",
} as const;

export const manifestAccept = [
  mediaTypes.ociIndex,
  mediaTypes.dockerList,
  mediaTypes.ociManifest,
  mediaTypes.dockerManifest,
].join(", ");

/** A blob as a manifest names it. */
export interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
}

export type Manifest =
  | { readonly kind: "index"; readonly entries: readonly (Descriptor & { platform?: Partial<Platform> })[] }
  | { readonly kind: "image"; readonly config: Descriptor; readonly layers: readonly Descriptor[] };

const maxLayers = 1_000;

/** `mediaType` is the registry's word for documents that do not name their own. */
export function parseManifest(text: string, mediaType = ""): Manifest {
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw invalid("is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null) throw invalid("is not an object");
  if (parsed.schemaVersion === 1) {
    throw new ImageError(
      "unsupported",
      "the image has a schema 1 manifest; push it again with a current tool",
    );
  }
  if (Array.isArray(parsed.manifests)) {
    return { kind: "index", entries: parsed.manifests.map(parseIndexEntry) };
  }
  if (Array.isArray(parsed.layers) && parsed.config) {
    if (parsed.layers.length > maxLayers) {
      throw new ImageError(
        "tooLarge",
        `the image has ${parsed.layers.length} layers; ${maxLayers} are allowed`,
      );
    }
    return {
      kind: "image",
      config: parseDescriptor(parsed.config),
      layers: parsed.layers.map(parseDescriptor),
    };
  }
  const type = typeof parsed.mediaType === "string" ? parsed.mediaType : mediaType;
  throw new ImageError("unsupported", `a manifest of type "${type}" is neither an image nor an index`);
}

function parseIndexEntry(value: unknown): Descriptor & { platform?: Partial<Platform> } {
  const descriptor = parseDescriptor(value);
  const { platform } = value as { platform?: Partial<Platform> };
  return platform ? { ...descriptor, platform } : descriptor;
}

function parseDescriptor(value: unknown): Descriptor {
  const { digest, size, mediaType } = (value ?? {}) as Partial<Record<keyof Descriptor, unknown>>;
  if (typeof digest !== "string" || !isDigest(digest)) throw invalid("names a blob without a sha256 digest");
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    throw invalid(`names ${digest} without a size`);
  }
  return { digest, size, mediaType: typeof mediaType === "string" ? mediaType : "" };
}

function invalid(why: string): ImageError {
  return new ImageError("invalidArchive", `the manifest ${why}`);
}
