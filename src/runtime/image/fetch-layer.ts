import type { Clock } from "../../lib/clock.ts";
import type { KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { ContentStore } from "../content/content-store.ts";
import { downloadBlob } from "../registry/download-blob.ts";
import type { Descriptor } from "../registry/manifest.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import type { LayerStore } from "../snapshot/layer-store.ts";
import type { UnpackLimits } from "../snapshot/unpack-layer.ts";
import type { UnpackPool } from "../snapshot/unpack-pool.ts";
import { type Activity, createActivityMeter } from "./activity.ts";
import { ImageError } from "./image-error.ts";
import type { LayerProgress, LayerStage } from "./images.ts";

export interface LayerFetchDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly pool: UnpackPool;
  readonly clock: Clock;
  readonly limits: () => Promise<UnpackLimits>;
  /** By digest: one that was given up may still be letting go of its file when the next begins. */
  readonly exclusive: KeyedMutex;
}

/** One layer on its way: what its pulls report of it. */
export interface LayerFetch {
  readonly progress: LayerProgress;
  readonly activity: Activity;
  /** Called at every byte count and stage; answers with the end of it. */
  onChange(listener: () => void): () => void;
}

export interface LayerFetchRequest {
  readonly descriptor: Descriptor;
  /** What the image's configuration says the archive is, decompressed. */
  readonly diffId: string;
  readonly client: RegistryClient;
  readonly signal: AbortSignal;
}

/**
 *     waiting ──▶ downloading ──▶ verifying ──▶ unpacking ──▶ done
 */
export function fetchLayer(
  deps: LayerFetchDeps,
  request: LayerFetchRequest,
): { state: LayerFetch; result: Promise<void> } {
  const { descriptor, diffId, client, signal } = request;
  const { digest, size } = descriptor;
  const activity = createActivityMeter(() => deps.clock.now());
  const listeners = new Set<() => void>();
  let progress: LayerProgress = { digest, offset: 0, total: size, stage: "waiting" };

  function change(next: { offset?: number; stage?: LayerStage }): void {
    progress = { ...progress, ...next };
    for (const listener of listeners) listener();
  }

  async function download(): Promise<void> {
    if (await deps.content.has(digest)) return change({ offset: size });
    const file = deps.content.partialPath(digest);
    const hash = deps.pool.hash(file, signal);
    change({ stage: "downloading" });
    await activity.during(() =>
      downloadBlob({
        client: touching(client),
        descriptor,
        file,
        clock: deps.clock,
        signal,
        onReceived: (offset) => {
          if (offset > progress.offset) activity.touch();
          change({ offset });
        },
        onWritten: hash.advance,
      }),
    );
    change({ stage: "verifying" });
    const found = await hash.finish(size);
    if (found !== digest) {
      await deps.content.discardPartial(digest);
      throw new ImageError(
        "digestMismatch",
        `a layer has digest ${found} where the manifest says ${digest}; it was damaged on the way or in the registry`,
      );
    }
    await deps.content.commit(digest);
  }

  /** An answer's header is a sign of life too. */
  function touching(inner: RegistryClient): RegistryClient {
    return {
      ...inner,
      async blob(options) {
        const response = await inner.blob(options);
        activity.touch();
        return response;
      },
    };
  }

  async function unpack(): Promise<void> {
    change({ stage: "unpacking" });
    const staging = await deps.layers.stage();
    try {
      const limits = await deps.limits();
      const result = await deps.pool.unpack(
        { blob: deps.content.path(digest), name: `layer ${digest}`, staging, limits },
        signal,
      );
      if (result.diffId !== diffId) {
        throw new ImageError(
          "digestMismatch",
          `layer ${digest} unpacks to ${result.diffId}, the image's configuration says ${diffId}`,
        );
      }
      await deps.layers.commit(staging, result, deps.clock.now());
    } catch (error) {
      await deps.layers.discard(staging);
      throw error;
    } finally {
      // The tree is what containers need; the archive would only take its space again.
      await deps.content.remove(digest);
    }
  }

  async function run(): Promise<void> {
    signal.throwIfAborted();
    if (!deps.layers.find(diffId)) {
      await download();
      await unpack();
    }
    change({ offset: size, stage: "done" });
  }

  return {
    state: {
      get progress() {
        return progress;
      },
      activity,
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    result: deps.exclusive.run(digest, run),
  };
}
