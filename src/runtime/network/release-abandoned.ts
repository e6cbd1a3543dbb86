import type { Logger } from "../../lib/logger.ts";
import type { Network } from "./network.ts";

/** Releases what pods hold that nobody knows any more: a daemon was killed while it made or removed them. */
export async function releaseAbandoned(
  network: Network,
  { knownPodIds, logger }: { knownPodIds: ReadonlySet<string>; logger: Logger },
): Promise<void> {
  const abandoned = (await network.list()).filter((podId) => !knownPodIds.has(podId));
  await Promise.all(
    abandoned.map(async (podId) => {
      try {
        await network.detach(podId);
        logger.info("released the network of a pod that is gone", { podId });
      } catch (error) {
        logger.warn("cannot release the network of a pod that is gone", { podId, error });
      }
    }),
  );
}
