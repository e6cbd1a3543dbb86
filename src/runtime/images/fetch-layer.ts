// Clauses: 3542-3, 3542-13
import type { Clock } from "../../lib/clock.ts";
import type { LayerProgress, LayerStage } from "../../lib/image/pull-progress.ts";
import type { KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { ContentStore } from "../content/content-store.ts";
import { ImageError } from "../errors/image-error.ts";
import { downloadBlob } from "../registry/download-blob.ts";
import type { Descriptor } from "../registry/manifest.ts";
import type { RegistryClient } from "../registry/registry-client.ts";
import { createTransfer, type Transfer } from "../registry/transfer.ts";
import type { LayerStore } from "../snapshots/layer-store.ts";
import type { UnpackLimits } from "../snapshots/unpack-layer.ts";
import type { UnpackPool } from "../snapshots/unpack-pool.ts";

export interface LayerFetchDeps {
  readonly content: ContentStore;
  readonly layers: LayerStore;
  readonly pool: UnpackPool;
  readonly clock: Clock;
  readonly limits: () => Promise<UnpackLimits>;
  /** Mutex by digest: a cancelled fetch may still be releasing its file when the next one starts. */
  readonly exclusive: KeyedMutex;
  /** The fetches that hold `exclusive`, by digest. */
  readonly active: Map<string, ActiveFetch>;
}

interface ActiveFetch {
  readonly transfer: Transfer;
  /** Restarts the download on a new connection of `client`, for all pulls that wait for the layer. */
  restart(client: RegistryClient): void;
}

/** Fetch of one layer. While it is blocked, its transfer is that of the other fetch. */
export interface LayerFetch extends ActiveFetch {
  readonly progress: LayerProgress;
  /** Whether it waits for another fetch of the same blob, for an image that claims a different diff ID. */
  readonly blocked: boolean;
  /** Subscribes to changes of the byte count and the stage. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void;
}

export interface LayerFetchRequest {
  readonly descriptor: Descriptor;
  /** Digest of the decompressed archive according to the image's configuration. */
  readonly diffId: string;
  readonly client: RegistryClient;
  readonly signal: AbortSignal;
}

/** Fetches a layer: ¶     waiting ──▶ downloading ──▶ verifying ──▶ unpacking ──▶ done */
export function fetchLayer(
  deps: LayerFetchDeps,
  request: LayerFetchRequest,
): { state: LayerFetch; result: Promise<void> } {
  const { descriptor, diffId, signal } = request;
  const { digest, size } = descriptor;
  const transfer = createTransfer(() => deps.clock.now());
  let latestClient = request.client;
  const distrusted = new WeakSet<RegistryClient>();
  const listeners = new Set<() => void>();
  let progress: LayerProgress = { digest, offset: 0, total: size, stage: "waiting" };

  function change(next: { offset?: number; stage?: LayerStage }): void {
    progress = { ...progress, ...next };
    for (const listener of listeners) listener();
  }

  async function download(): Promise<void> {
    if (await deps.content.has(digest)) return change({ offset: size });
    for (;;) {
      try {
        return await downloadAndVerify();
      } catch (error) {
        const isWrong = error instanceof ImageError && error.code === "digestMismatch";
        if (!isWrong || latestClient === request.client) throw error;
        // The registry of a pull that joined must not fail the others: the layer is downloaded again without it.
        distrusted.add(latestClient);
        latestClient = request.client;
        await deps.content.discardPartial(digest);
      }
    }
  }

  async function downloadAndVerify(): Promise<void> {
    const file = deps.content.partialPath(digest);
    let hash = startHash(file);
    try {
      change({ stage: "downloading" });
      await transfer.during(() =>
        downloadBlob({
          client: { blob },
          transfer,
          descriptor,
          file,
          clock: deps.clock,
          signal,
          onReceived: (offset) => {
            if (offset > progress.offset) transfer.touch();
            change({ offset });
          },
          onWritten: (bytes) => hash.advance(bytes),
          onTruncated: () => {
            hash.cancel();
            hash = startHash(file);
          },
        }),
      );
      change({ stage: "verifying" });
      const found = await hash.finish(size);
      if (found !== digest) {
        await deps.content.discardPartial(digest);
        throw new ImageError(
          "digestMismatch",
          `a layer has digest ${found}, but the manifest says ${digest}; it was damaged in transit or in the registry`,
        );
      }
      await deps.content.commit(digest);
    } finally {
      hash.cancel();
    }
  }

  function startHash(file: string) {
    const cancel = new AbortController();
    const hash = deps.pool.hash(file, AbortSignal.any([signal, cancel.signal]));
    return { ...hash, cancel: () => cancel.abort(new ImageError("cancelled", "the digest is not needed")) };
  }

  /**
   * Requests a blob from the registry of the pull that last restarted the transfer, then from that of the first pull.
   */
  const blob: RegistryClient["blob"] = async (options) => {
    if (latestClient !== request.client) {
      try {
        return await latestClient.blob(options);
      } catch {
        options.signal.throwIfAborted();
      }
    }
    return request.client.blob(options);
  };

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
      // Containers need only the unpacked files; the archive would take the space again.
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

  const own: ActiveFetch = {
    transfer,
    restart(client) {
      if (!distrusted.has(client)) latestClient = client;
      client.reconnect();
      transfer.restart();
    },
  };
  const active = () => (progress.stage === "waiting" ? deps.active.get(digest) : undefined) ?? own;

  return {
    state: {
      get progress() {
        return progress;
      },
      get transfer() {
        return active().transfer;
      },
      get blocked() {
        return active() !== own;
      },
      restart: (client) => active().restart(client),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    result: deps.exclusive.run(digest, async () => {
      deps.active.set(digest, own);
      await run().finally(() => deps.active.delete(digest));
    }),
  };
}
