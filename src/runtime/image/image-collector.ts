import type { Clock } from "../../lib/clock.ts";
import type { ContentStore } from "../content/content-store.ts";
import { runProgram } from "../process/run-program.ts";
import type { LayerStore } from "../snapshot/layer-store.ts";
import type { RootfsStore } from "../snapshot/rootfs-store.ts";
import type { ImageRecord, ImageRecords } from "./image-records.ts";

/** Removes what no image and no container needs any more. */
export interface ImageCollector {
  /** Keeps layers that a pull is about to need; the returned function ends it. */
  lease(diffIds: readonly string[]): () => void;
  /** At start: what pulls of earlier runs left and nobody came back for. */
  collectOld(): Promise<void>;
  /** What the image had alone, once its record is gone. */
  collectImage(image: ImageRecord): Promise<void>;
  /** Brings layers to the disk behind the pull's back: until then they count for this boot only. */
  syncLater(diffIds: readonly string[]): void;
  close(): Promise<void>;
}

/** A pull that was cut is mostly tried again soon: what it had is kept this long. */
const keepForRetryMs = 6 * 3_600_000;

export function createImageCollector(deps: {
  records: ImageRecords;
  layers: LayerStore;
  content: ContentStore;
  rootfs: RootfsStore;
  clock: Clock;
}): ImageCollector {
  const { records, layers, content, rootfs, clock } = deps;
  const leases = new Set<readonly string[]>();
  let syncing: Promise<void> = Promise.resolve();

  function neededLayers(): Set<string> {
    return new Set([
      ...records.list().flatMap(({ diffIds }) => diffIds),
      ...rootfs.list().flatMap(({ diffIds }) => diffIds),
      ...[...leases].flat(),
    ]);
  }

  return {
    lease(diffIds) {
      const lease = [...diffIds];
      leases.add(lease);
      return () => leases.delete(lease);
    },
    async collectOld() {
      const before = clock.now() - keepForRetryMs;
      const needed = neededLayers();
      for (const { diffId, createdAtMs } of layers.list()) {
        if (!needed.has(diffId) && createdAtMs < before) await layers.remove(diffId);
      }
      const keep = new Set(records.list().flatMap(({ blobs }) => blobs));
      await content.collect({ keep, partialsBeforeMs: before });
    },
    async collectImage(image) {
      for (const diffId of image.diffIds) {
        // Asked anew each time: a pull may have come for the next one meanwhile.
        if (!neededLayers().has(diffId)) await layers.remove(diffId);
      }
      const kept = new Set(records.list().flatMap(({ blobs }) => blobs));
      for (const digest of image.blobs) if (!kept.has(digest)) await content.remove(digest);
    },
    syncLater(diffIds) {
      syncing = syncing
        .then(() => runProgram("sync", ["-f", layers.directory]))
        .then(() => layers.markSynced(diffIds))
        // Without it the layers are pulled again after a crash of the machine.
        .catch(() => {});
    },
    close: () => syncing,
  };
}
