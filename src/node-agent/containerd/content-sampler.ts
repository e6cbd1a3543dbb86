// Clauses: 3542-14
import type { ContentStore } from "../../cri/cri-client.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import {
  type ContentSnapshot,
  type Layer,
  layerFilter,
  type ManifestBlob,
  manifestFilters,
  parseBlobs,
  parseIngests,
  parseManifest,
  type StoredLayer,
  slackMs,
  sourceOf,
} from "./content-facts.ts";
import type { WantedPull } from "./track-pulls.ts";

/** Pull of which the content store is read. */
interface SampledPull extends WantedPull {
  /** Whether its manifest is not known yet. */
  readonly isResolving: boolean;
}

/** Reads what the content store has of the pulls. */
export type SampleContent = (wanted: readonly SampledPull[], signal: AbortSignal) => Promise<ContentSnapshot>;

/**
 * Time between two lists of complete blobs, which cost more than the ingests. A pull that starts and a layer that leaves the
 * ingests are listed at once.
 */
const listIntervalMs = 5_000;
/** The same while a pull has no manifest yet. */
const resolvingIntervalMs = 2_000;
/** Time after which a pull without a manifest may be one whose layers are all present and being unpacked. */
const readAllAfterMs = 10_000;
/** Containerd itself does not accept larger manifests. */
const maxManifestBytes = 8 * 2 ** 20;
const maxReadsPerSample = 50;
const maxManifests = 500;

interface Listed {
  readonly atMs: number;
  readonly images: ReadonlySet<string>;
  readonly manifests: ContentSnapshot["manifests"];
  readonly stored: ReadonlyMap<string, StoredLayer>;
}

const nothing: Listed = {
  atMs: Number.NEGATIVE_INFINITY,
  images: new Set(),
  manifests: [],
  stored: new Map(),
};

/** Creates a sampler: one call of ListStatuses for each sample, List and Read only where a pull needs them. */
export function createContentSampler({
  store,
  clock,
  logger,
}: {
  readonly store: ContentStore;
  readonly clock: Clock;
  readonly logger: Logger;
}): SampleContent {
  /** Layers by digest of the manifest; empty for content that is not a manifest. */
  const known = createLruMap<readonly Layer[]>(maxManifests);
  let listed = nothing;
  let lastIngests: ContentSnapshot["ingests"] = new Map();

  async function layersOf({ digest }: ManifestBlob, signal: AbortSignal): Promise<readonly Layer[]> {
    const before = known.get(digest);
    if (before) return before;
    const layers = await store.read(digest, { maxBytes: maxManifestBytes, signal }).then(
      (content) => parseManifest(content) ?? [],
      (error: unknown) => {
        signal.throwIfAborted();
        logger.debug("failed to read a manifest", { digest, error });
        return [];
      },
    );
    known.set(digest, layers);
    return layers;
  }

  async function list(
    wanted: readonly SampledPull[],
    ingests: ContentSnapshot["ingests"],
    signal: AbortSignal,
  ): Promise<Listed> {
    const now = clock.now();
    const images = new Set(wanted.map(({ image }) => image));
    const blobs = parseBlobs(await store.list([...new Set([...images].flatMap(manifestFilters))], signal));
    const relevant = blobs.manifests
      .filter((blob) => isRelevant(blob, { wanted, ingests, indexes: blobs.indexes, now }))
      .sort((a, b) => b.touchedMs - a.touchedMs)
      .slice(0, maxReadsPerSample);
    const manifests: ContentSnapshot["manifests"][number][] = [];
    for (const blob of relevant) {
      const layers = await layersOf(blob, signal);
      const indexes = [...blobs.indexes].flatMap(([index, children]) =>
        children.includes(blob.digest) ? [index] : [],
      );
      if (layers.length > 0) manifests.push({ ...blob, layers, indexes });
    }
    const digests = new Set(manifests.flatMap(({ layers }) => layers.map(({ digest }) => digest)));
    const kept = [...digests].flatMap((digest): [string, StoredLayer][] => {
      const layer = listed.stored.get(digest);
      return layer?.isUnpacked ? [[digest, layer]] : [];
    });
    const stored = new Map(kept);
    const missing = [...digests].filter((digest) => !stored.has(digest) && !ingests.has(digest));
    if (missing.length > 0) {
      const { layers } = parseBlobs(await store.list(missing.map(layerFilter), signal));
      for (const [digest, layer] of layers) stored.set(digest, layer);
    }
    return { atMs: now, images, manifests, stored };
  }

  return async (wanted, signal) => {
    const ingests = parseIngests(await store.statuses(signal));
    const isResolving = wanted.some((pull) => pull.isResolving);
    const isDue =
      clock.now() - listed.atMs >= (isResolving ? resolvingIntervalMs : listIntervalMs) ||
      wanted.some(({ image }) => !listed.images.has(image)) ||
      [...lastIngests.keys()].some((digest) => !ingests.has(digest));
    lastIngests = ingests;
    if (isDue) listed = await list(wanted, ingests, signal);
    return { ingests, stored: listed.stored, manifests: listed.manifests };
  };
}

/** Whether a pull may be receiving or unpacking this manifest, judging by its labels. */
function isRelevant(
  { digest, repositories, touchedMs, layerDigests }: ManifestBlob,
  {
    wanted,
    ingests,
    indexes,
    now,
  }: {
    readonly wanted: readonly SampledPull[];
    readonly ingests: ContentSnapshot["ingests"];
    readonly indexes: ReadonlyMap<string, readonly string[]>;
    readonly now: number;
  },
): boolean {
  return wanted.some(({ image, startedMs, isResolving }) => {
    const source = sourceOf(image);
    if (source?.digest !== undefined)
      return source.digest === digest || indexes.get(source.digest)?.includes(digest);
    if (!source || !repositories.includes(source.repository)) return false;
    return (
      touchedMs >= startedMs - slackMs ||
      (isResolving && now - startedMs >= readAllAfterMs) ||
      layerDigests.some((layer) => ingests.has(layer))
    );
  });
}
