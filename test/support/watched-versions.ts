import { expect } from "vitest";
import type { KubeObject } from "../../src/api/objects.ts";
import type { WatchEvent } from "../../src/client/client.ts";

/** How far a watch has come. */
interface WatchedVersions {
  see(event: WatchEvent<KubeObject>): void;
  /** Until it has told of all that a list shows: others may have seen it happen earlier. */
  untilAllIsSeen(list: () => Promise<{ readonly items: readonly KubeObject[] }>): Promise<void>;
}

/** `items`: what was there when the watch began. */
export function watchedVersions(items: readonly KubeObject[]): WatchedVersions {
  const seen = new Map(items.map(versionOf));
  return {
    see(event) {
      if (event.type === "BOOKMARK") return;
      if (event.type === "DELETED") seen.delete(event.object.metadata.uid);
      else seen.set(...versionOf(event.object));
    },
    async untilAllIsSeen(list) {
      const isSeen = async () => {
        const { items: now } = await list();
        return (
          now.length === seen.size &&
          now.every(({ metadata }) => seen.get(metadata.uid) === metadata.resourceVersion)
        );
      };
      await expect.poll(isSeen, { interval: 20 }).toBe(true);
    },
  };
}

function versionOf({ metadata }: KubeObject): [uid: string | undefined, version: string | undefined] {
  return [metadata.uid, metadata.resourceVersion];
}
