// Clauses: 3542-9
import { setMaxListeners } from "node:events";
import type { Clock } from "../../lib/clock.ts";
import { formatImageName, type ImageName, repositoryName } from "../../lib/image/image-name.ts";
import type { LayerProgress, PullProgress } from "../../lib/image/pull-progress.ts";
import { createLimiter } from "../../lib/limiter.ts";
import { type ContentStore, digestOf } from "../content/content-store.ts";
import { ImageError } from "../errors/image-error.ts";
import {
  choosePlatform,
  type Descriptor,
  type Manifest,
  type Platform,
  parseManifest,
} from "../registry/manifest.ts";
import type { ClientRequest, RegistryClient } from "../registry/registry-client.ts";
import { type AwaitedTransfer, createTransfer, retryTransient } from "../registry/transfer.ts";
import { readBody } from "../registry/transport.ts";
import type { LayerStore } from "../snapshots/layer-store.ts";
import type { LayerFetch } from "./fetch-layer.ts";
import type { ImageRecord } from "./image-records.ts";
import { parseImageConfig } from "./images.ts";
import type { Joined } from "./singleflight.ts";

export interface PullDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly clock: Clock;
  readonly platform: Platform;
  readonly maxParallelLayers: number;
  /** Joins or starts the fetch of a layer. */
  readonly fetchLayer: (request: {
    descriptor: Descriptor;
    diffId: string;
    client: RegistryClient;
    signal: AbortSignal;
  }) => Joined<LayerFetch, void>;
  /** Protects layers from collection until the returned function is called. */
  readonly lease: (diffIds: readonly string[]) => () => void;
  readonly save: (record: ImageRecord) => Promise<ImageRecord>;
}

/** State of a pull, observed by its callers. The sums are kept up to date, because metering by size reads them often. */
export interface PullState extends PullProgress {
  readonly transfers: readonly PullTransfer[];
  onChange(listener: () => void): () => void;
}

/** Transfer of a pull; `joined` if a pull of another image began it. */
interface PullTransfer extends AwaitedTransfer {
  /** Requests the data again on a new connection, for all callers. */
  restart(): void;
}

const maxConfigBytes = 8 << 20;

export function pullImage(
  deps: PullDeps,
  request: {
    reference: ImageName;
    client: RegistryClient;
    signal: AbortSignal;
  },
): { state: PullState; result: Promise<ImageRecord> } {
  const { reference, client, signal } = request;
  const transfer = createTransfer(() => deps.clock.now());
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  /** Progress by digest, lowest layer first, as included in the sums. */
  const shown = new Map<string, LayerProgress>();
  const fetches: { fetch: LayerFetch; joined: boolean; joinedAtMs: number }[] = [];
  let offset = 0;
  let total = 0;

  function show(digest: string, progress: LayerProgress): void {
    const before = shown.get(digest);
    offset += progress.offset - (before?.offset ?? 0);
    total += progress.total - (before?.total ?? 0);
    shown.set(digest, progress);
  }

  const online = <T>(send: (options: ClientRequest) => Promise<T>) => {
    const sendOne = (one: AbortSignal) => send({ signal: one, onActivity: transfer.touch });
    const request = () => transfer.request(sendOne, signal);
    return transfer.during(() => retryTransient(request, { clock: deps.clock, signal }));
  };

  async function resolve(): Promise<{ manifest: Extract<Manifest, { kind: "image" }>; digests: string[] }> {
    const digests: string[] = [];
    let wanted = reference.digest ?? reference.tag ?? "latest";
    // An index may refer to an index; no tool writes deeper nesting.
    for (let depth = 0; depth < 3; depth++) {
      const fetched = await online((options) => client.manifest(wanted, options));
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
    // Verified also when it exists: a crash of the machine may have left it empty.
    const known = (await deps.content.has(digest)) ? await deps.content.read(digest) : undefined;
    if (known && digestOf(known) === digest) return known.toString("utf8");
    if (size > maxConfigBytes)
      throw new ImageError("tooLarge", `the image's configuration has ${size} bytes`);
    const bytes = await online(async (options) =>
      readBody(await client.blob({ digest, offset: 0, ...options }), maxConfigBytes),
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
      // Existing layers count as zero bytes, so that the sums describe what this pull transfers.
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
    // Each layer in progress adds several listeners, which are removed when it ends.
    setMaxListeners(0, layerSignal);
    const outcomes = await Promise.allSettled(
      [...missing].map(([digest, layer]) =>
        limit(async () => {
          layerSignal.throwIfAborted();
          const { state, result, joined } = deps.fetchLayer({ ...layer, client, signal: layerSignal });
          fetches.push({ fetch: state, joined, joinedAtMs: deps.clock.now() });
          const update = () => show(digest, state.progress);
          update();
          const stop = state.onChange(() => {
            update();
            notify();
          });
          // The failure of one layer fails the pull and cancels the other layers.
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

  function ownTransfer(): PullTransfer {
    const restart = () => {
      client.reconnect();
      transfer.restart();
    };
    return { ...transfer, joined: false, restart };
  }

  function layerTransfer({ fetch, joined, joinedAtMs }: (typeof fetches)[number]): PullTransfer {
    const { waiting, lastAtMs, restartedAtMs } = fetch.transfer;
    return {
      waiting,
      // The silence before this pull joined does not count for its callers.
      lastAtMs: Math.max(lastAtMs, joinedAtMs),
      restartedAtMs,
      joined: joined || fetch.blocked,
      restart: () => fetch.restart(client),
    };
  }

  return {
    state: {
      get layers() {
        return [...shown.values()];
      },
      get offset() {
        return offset;
      },
      get total() {
        return total;
      },
      get transfers() {
        return [ownTransfer(), ...fetches.map(layerTransfer)];
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    result: run(),
  };
}
