import { arch } from "node:process";
import { ImageError } from "../errors/image-error.ts";
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

/** Reference to a blob in a manifest. */
export interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
}

export type Manifest =
  | { readonly kind: "index"; readonly entries: readonly (Descriptor & { platform?: Partial<Platform> })[] }
  | { readonly kind: "image"; readonly config: Descriptor; readonly layers: readonly Descriptor[] };

const maxLayers = 1_000;

/** Parses a manifest. `mediaType` is the registry's content type, for documents that do not contain their own. */
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

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

const architectures: Record<string, Platform> = {
  x64: { os: "linux", architecture: "amd64" },
  arm64: { os: "linux", architecture: "arm64", variant: "v8" },
  arm: { os: "linux", architecture: "arm", variant: "v7" },
  ia32: { os: "linux", architecture: "386" },
};

export const hostPlatform: Platform = architectures[arch] ?? { os: "linux", architecture: arch };

/** Chooses the index entry that matches the platform best; older variants of arm match too. */
export function choosePlatform<T extends { readonly platform?: Partial<Platform> }>(
  entries: readonly T[],
  wanted: Platform,
): T | undefined {
  const fitting = entries
    .map((entry) => ({ entry, rank: rankOf(entry.platform, wanted) }))
    .filter(({ rank }) => rank > 0);
  // The first of equal matches, as in other runtimes.
  return fitting.reduce<{ entry?: T; rank: number }>((best, next) => (next.rank > best.rank ? next : best), {
    rank: 0,
  }).entry;
}

/** Rank of a match; 0 when the entry does not run on the platform. */
function rankOf(have: Partial<Platform> | undefined, wanted: Platform): number {
  // Entries without a platform match any; attestations have the platform "unknown".
  if (!have) return 1;
  if (have.os !== wanted.os || have.architecture !== wanted.architecture) return 0;
  const [ours, theirs] = [variantOf(wanted), variantOf(have)];
  if (theirs === ours) return 100;
  return theirs < ours ? 10 + theirs : 0;
}

function variantOf({ architecture, variant }: Partial<Platform>): number {
  const number = Number(variant?.replace(/^v/, ""));
  if (Number.isInteger(number) && variant) return number;
  if (architecture === "arm64") return 8;
  if (architecture === "arm") return 7;
  return architecture === "amd64" ? 1 : 0;
}
