import { setMaxListeners } from "node:events";
import type { Clock } from "../../lib/clock.ts";
import { formatImageName, type ImageName, repositoryName } from "../../lib/image-name.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { ContentStore } from "../content/content-store.ts";
import { digestOf } from "../content/digest-of.ts";
import { type Descriptor, type Manifest, parseManifest } from "../registry/manifest.ts";
import { choosePlatform, type Platform } from "../registry/platform.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import { retryTransient } from "../registry/retry-transient.ts";
import { readText } from "../registry/transport.ts";
import type { LayerStore } from "../snapshot/layer-store.ts";
import { type Activity, createActivityMeter } from "./activity.ts";
import type { LayerFetch } from "./fetch-layer.ts";
import { parseImageConfig } from "./image-config.ts";
import { ImageError } from "./image-error.ts";
import type { ImageRecord } from "./image-records.ts";
import type { LayerProgress } from "./images.ts";

export interface PullDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly clock: Clock;
  readonly platform: Platform;
  readonly maxParallelLayers: number;
  /** Joins a layer's fetch, or begins it. */
  readonly fetchLayer: (request: {
    descriptor: Descriptor;
    diffId: string;
    client: RegistryClient;
    signal: AbortSignal;
  }) => { state: LayerFetch; result: Promise<void> };
  /** Layers named here are not collected until the returned function is called. */
  readonly lease: (diffIds: readonly string[]) => () => void;
  readonly save: (record: ImageRecord) => Promise<ImageRecord>;
}

/** A pull as its callers watch it. */
export interface PullState {
  readonly layers: readonly LayerProgress[];
  /** The layers' figures in sum. Known at any time at no cost: whoever meters by size asks at every piece that arrives. */
  readonly offset: number;
  readonly total: number;
  readonly activities: readonly Activity[];
  onChange(listener: () => void): () => void;
}

const maxConfigBytes = 8 << 20;

export function pullImage(
  deps: PullDeps,
  request: {
    reference: ImageName;
    createClient: (onActivity: () => void) => RegistryClient;
    signal: AbortSignal;
  },
): { state: PullState; result: Promise<ImageRecord> } {
  const { reference, signal } = request;
  const activity = createActivityMeter(() => deps.clock.now());
  const client = request.createClient(() => activity.touch());
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  /** By digest, lowest layer first: what is known of each, and is in the sums. */
  const shown = new Map<string, { progress: LayerProgress; fetch?: LayerFetch }>();
  let offset = 0;
  let total = 0;

  function show(digest: string, progress: LayerProgress, fetch?: LayerFetch): void {
    const before = shown.get(digest)?.progress;
    offset += progress.offset - (before?.offset ?? 0);
    total += progress.total - (before?.total ?? 0);
    shown.set(digest, { progress, fetch });
  }

  const online = <T>(work: () => Promise<T>) =>
    activity.during(() => retryTransient(work, { clock: deps.clock, signal }));

  async function resolve(): Promise<{ manifest: Extract<Manifest, { kind: "image" }>; digests: string[] }> {
    const digests: string[] = [];
    let wanted = reference.digest ?? reference.tag ?? "latest";
    // An index may name an index; more than that no tool writes.
    for (let depth = 0; depth < 3; depth++) {
      const fetched = await online(() => client.manifest(wanted, signal));
      digests.push(fetched.digest);
      await deps.content.write(fetched.digest, fetched.bytes);
      const manifest = parseManifest(fetched.bytes.toString("utf8"), fetched.mediaType);
      if (manifest.kind === "image") return { manifest, digests };
      const entry = choosePlatform(manifest.entries, deps.platform);
      if (!entry) {
        const { os, architecture } = deps.platform;
        throw new ImageError(
          "unsupported",
          `${formatImageName(reference)} has no image for ${os}/${architecture}`,
        );
      }
      wanted = entry.digest;
    }
    throw new ImageError("unsupported", `${formatImageName(reference)} is an index of indexes`);
  }

  async function fetchConfig({ digest, size }: Descriptor): Promise<string> {
    // Checked also when it is here: a crash of the machine may have left it empty.
    const known = (await deps.content.has(digest)) ? await deps.content.read(digest) : undefined;
    if (known && digestOf(known) === digest) return known.toString("utf8");
    if (size > maxConfigBytes)
      throw new ImageError("tooLarge", `the image's configuration has ${size} bytes`);
    const bytes = await online(async () =>
      readText(await client.blob({ digest, offset: 0, signal }), maxConfigBytes),
    );
    const found = digestOf(bytes);
    if (found !== digest) {
      throw new ImageError(
        "digestMismatch",
        `the configuration has digest ${found}, the manifest says ${digest}`,
      );
    }
    await deps.content.write(digest, bytes);
    return bytes.toString("utf8");
  }

  async function fetchLayers(layers: readonly { descriptor: Descriptor; diffId: string }[]): Promise<void> {
    const missing = new Map(layers.map((layer) => [layer.descriptor.digest, layer]));
    for (const [digest, { descriptor, diffId }] of missing) {
      const exists = deps.layers.find(diffId) !== undefined;
      // What is here does not arrive: it counts for nothing, so that the layers' figures add up to the pull's.
      const progress: LayerProgress = exists
        ? { digest, offset: 0, total: 0, stage: "exists" }
        : { digest, offset: 0, total: descriptor.size, stage: "waiting" };
      show(digest, progress);
      if (exists) missing.delete(digest);
    }
    notify();
    const limit = createLimiter(deps.maxParallelLayers);
    const failing = new AbortController();
    const layerSignal = AbortSignal.any([signal, failing.signal]);
    // Some listen for each layer on its way, and none for longer than that.
    setMaxListeners(0, layerSignal);
    const outcomes = await Promise.allSettled(
      [...missing].map(([digest, layer]) =>
        limit(async () => {
          layerSignal.throwIfAborted();
          const { state, result } = deps.fetchLayer({ ...layer, client, signal: layerSignal });
          const update = () => show(digest, state.progress, state);
          update();
          const stop = state.onChange(() => {
            update();
            notify();
          });
          // One layer's failure is the pull's: the others need not go on.
          await result
            .catch((error) => {
              failing.abort(error);
              throw error;
            })
            .finally(stop);
        }),
      ),
    );
    signal.throwIfAborted();
    if (failing.signal.aborted) throw failing.signal.reason;
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
  }

  async function run(): Promise<ImageRecord> {
    const { manifest, digests } = await resolve();
    const { config, diffIds } = parseImageConfig(await fetchConfig(manifest.config));
    if (diffIds.length !== manifest.layers.length) {
      throw new ImageError(
        "invalidArchive",
        `the manifest has ${manifest.layers.length} layers, the configuration ${diffIds.length}`,
      );
    }
    const release = deps.lease(diffIds);
    try {
      const layers = manifest.layers.map((descriptor, i) => ({ descriptor, diffId: diffIds[i] ?? "" }));
      await fetchLayers(layers);
      signal.throwIfAborted();
      const { tag, digest, ...repository } = reference;
      return await deps.save({
        id: manifest.config.digest,
        repoTags: tag === undefined || digest !== undefined ? [] : [formatImageName({ ...repository, tag })],
        repoDigests: digests.slice(0, 1).map((found) => `${repositoryName(reference)}@${found}`),
        size: manifest.layers.reduce((sum, layer) => sum + layer.size, manifest.config.size),
        pinned: false,
        config,
        diffIds,
        blobs: [manifest.config.digest, ...digests],
      });
    } finally {
      release();
    }
  }

  return {
    state: {
      get layers() {
        return Array.from(shown.values(), ({ progress }) => progress);
      },
      get offset() {
        return offset;
      },
      get total() {
        return total;
      },
      get activities() {
        return [activity, ...[...shown.values()].flatMap(({ fetch }) => (fetch ? [fetch.activity] : []))];
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    result: run(),
  };
}
