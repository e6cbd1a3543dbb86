// Clauses: 3542-14
import type { Info, Status } from "../../cri/generated/containerd.ts";
import { parseImageName } from "../../lib/image/image-name.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { createLruMap } from "../../lib/lru-map.ts";

/** Layer that containerd is receiving. */
export interface Ingest {
  readonly offset: number;
  readonly total: number;
}

/** Layer that is complete in the content store. */
export interface StoredLayer {
  readonly createdMs: number;
  /** containerd labels a layer with the digest of its uncompressed archive after unpacking it. */
  readonly isUnpacked: boolean;
}

export interface Layer {
  readonly digest: string;
  readonly size: number;
}

/** Manifest of an image in the content store. containerd stores it before it requests the first layer. */
export interface Manifest {
  readonly digest: string;
  /** Repositories that it was pulled from: `registry.example.com/app`, without port. */
  readonly repositories: readonly string[];
  /** Indexes that select this manifest for the node's platform. */
  readonly indexes: readonly string[];
  readonly createdMs: number;
  /** Time of the last change of its labels, which each pull writes. containerd 1.6 does not report it. */
  readonly touchedMs: number;
  /** Layers, lowest first, each once. */
  readonly layers: readonly Layer[];
}

/** Manifest as far as its labels describe it. Only its content has the sizes of the layers. */
export interface ManifestBlob extends Omit<Manifest, "layers" | "indexes"> {
  readonly layerDigests: readonly string[];
}

/** What containerd's content store contains at one time. */
export interface ContentSnapshot {
  /** Layers that are being received, by digest. */
  readonly ingests: ReadonlyMap<string, Ingest>;
  /** Complete layers, by digest. Only layers of manifests that may be pulled are looked up. */
  readonly stored: ReadonlyMap<string, StoredLayer>;
  readonly manifests: readonly Manifest[];
}

/** Events, from which starts of pulls are known, have a resolution of one second. */
export const slackMs = 1_000;

const sourceLabel = "containerd.io/distribution.source.";
const layerLabel = "containerd.io/gc.ref.content.l.";
const childLabel = "containerd.io/gc.ref.content.m.";
const unpackedLabel = "containerd.io/uncompressed";

/** Layers that are being received, by digest. A layer's ref is `layer-sha256:…`; other refs are manifests and configs. */
export function parseIngests(statuses: readonly Status[]): ReadonlyMap<string, Ingest> {
  return new Map(
    statuses.flatMap(({ ref, offset, total }): [string, Ingest][] => {
      const digest = /^layer-(\w+:[0-9a-f]+)$/.exec(ref)?.[1];
      return digest === undefined ? [] : [[digest, { offset, total }]];
    }),
  );
}

/** Source of an image: registry and repository as containerd's labels name them, and the digest if the image has one. */
interface ImageSource {
  /** `registry.example.com/app`, without port. */
  readonly repository: string;
  readonly digest?: string;
}

/** Sources by image: each sample needs them several times for each pull. */
const sources = createLruMap<ImageSource>(500);

/** Undefined if the name is not valid. */
export function sourceOf(image: string): ImageSource | undefined {
  const known = sources.get(image);
  if (known) return known;
  const source = parseSource(image);
  if (source) sources.set(image, source);
  return source;
}

function parseSource(image: string): ImageSource | undefined {
  const name = parseImageName(image);
  if ("problem" in name) return undefined;
  const host = name.host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
  return {
    repository: `${host}/${name.repository}`,
    ...(name.digest !== undefined && { digest: name.digest }),
  };
}

/** Filters that find the manifests of an image, and its index if the image has a digest. */
export function manifestFilters(image: string): readonly string[] {
  const { repository, digest } = sourceOf(image) ?? {};
  if (repository === undefined) return [];
  const slash = repository.indexOf("/");
  const [host, path] = [repository.slice(0, slash), repository.slice(slash + 1)];
  // The label lists the repositories of the host; which of them match exactly is decided here.
  const manifests = `labels."${layerLabel}0",labels."${sourceLabel}${host}"~="${path}"`;
  return digest === undefined ? [manifests] : [manifests, `digest==${digest}`];
}

export function layerFilter(digest: string): string {
  return `digest==${digest}`;
}

/** Sorts the blobs of a list into manifests, indexes (manifests by digest of the index) and layers. */
export function parseBlobs(blobs: readonly Info[]): {
  readonly manifests: readonly ManifestBlob[];
  readonly indexes: ReadonlyMap<string, readonly string[]>;
  readonly layers: ReadonlyMap<string, StoredLayer>;
} {
  const manifests: ManifestBlob[] = [];
  const indexes = new Map<string, readonly string[]>();
  const layers = new Map<string, StoredLayer>();
  for (const { digest, labels, createdAt, updatedAt } of blobs) {
    const createdMs = createdAt?.getTime() ?? 0;
    const layerDigests = labelled(labels, layerLabel);
    const children = labelled(labels, childLabel);
    if (layerDigests.length > 0) {
      const touchedMs = Math.max(createdMs, updatedAt?.getTime() ?? 0);
      manifests.push({ digest, repositories: repositoriesOf(labels), createdMs, touchedMs, layerDigests });
    } else if (children.length > 0) indexes.set(digest, children);
    else layers.set(digest, { createdMs, isUnpacked: labels[unpackedLabel] !== undefined });
  }
  return { manifests, indexes, layers };
}

function labelled(labels: Readonly<Record<string, string>>, prefix: string): readonly string[] {
  return Object.entries(labels).flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : []));
}

function repositoriesOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).flatMap(([name, value]) =>
    name.startsWith(sourceLabel)
      ? value.split(",").map((path) => `${name.slice(sourceLabel.length)}/${path}`)
      : [],
  );
}

/** Limit for images, whose authors are not trusted. OCI runtimes accept far fewer. */
const maxLayers = 1_000;

/** Parses the layers of a manifest. Undefined if it is not a valid manifest. */
export function parseManifest(content: Buffer): readonly Layer[] | undefined {
  let manifest: unknown;
  try {
    manifest = JSON.parse(content.toString("utf8"));
  } catch {
    return undefined;
  }
  const layers = isMapping(manifest) ? manifest.layers : undefined;
  if (!Array.isArray(layers) || layers.length > maxLayers) return undefined;
  const sizes = new Map<string, number>();
  for (const layer of layers) {
    const { digest, size } = isMapping(layer) ? layer : {};
    if (typeof digest !== "string" || !/^\w+:[0-9a-f]{32,128}$/.test(digest)) return undefined;
    if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
    sizes.set(digest, size);
  }
  return [...sizes].map(([digest, size]) => ({ digest, size }));
}
