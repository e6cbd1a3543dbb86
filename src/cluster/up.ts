import { rm } from "node:fs/promises";
import type { Merged } from "../client/merge-kubeconfig.ts";
import { systemClock } from "../lib/clock.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import { openDataDir } from "./data-dir/open-data-dir.ts";
import { mergeAccess, unmergeAccess } from "./merge-access.ts";
import { unmountBelow } from "./unmount-below.ts";

export interface UpOptions extends ClusterOptions {
  /** The directory was made for this run and goes with it. */
  readonly temporary?: boolean;
  /** Also put the access into this kubeconfig. */
  readonly merge?: { readonly into: string; readonly makeCurrent: boolean };
}

export interface Up extends Cluster {
  readonly merged?: Merged & { readonly into: string };
}

/** A cluster in a data directory of its own, with a note there of who runs it. */
export async function startUp(options: UpOptions): Promise<Up> {
  const { dataDir, temporary = false, ephemeral = false, runtime, store, merge, logger } = options;
  const handlers = Object.fromEntries(options.runtimeConfig?.handlers ?? []);
  const removeTemporary = async () => {
    if (!temporary) return;
    await unmountBelow(dataDir);
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  };
  const directory = await openDataDir(dataDir, { store: store.kind, runtime, handlers, ephemeral }).catch(
    async (error) => {
      await removeTemporary();
      throw error;
    },
  );
  const { previous } = directory;
  if (previous && previous.startedAt > Date.now())
    logger.warn(
      "the machine's clock went backwards since the cluster last started: ages are wrong until it has caught up",
    );
  let cluster: Cluster | undefined;

  async function close(): Promise<void> {
    await cluster?.close();
    await directory.release();
    await removeTemporary();
    // Last: somebody's broken file must not keep the rest.
    if (ephemeral) await unmergeAccess(directory.record.mergedInto, { dataDir, clock: systemClock });
  }

  async function mergeInto(into: string, { kubeconfig }: Cluster): Promise<Merged> {
    // Noted first: a kill in between must not leave an entry that nobody knows of.
    await directory.update({ mergedInto: [...new Set([...directory.record.mergedInto, into])] });
    const makeCurrent = merge?.makeCurrent ?? false;
    return mergeAccess({ dataDir, kubeconfig, into, makeCurrent, clock: systemClock });
  }

  try {
    cluster = await startCluster(options);
    const { url, kubeconfig, dashboard } = cluster;
    await directory.update({ serving: { url, kubeconfig, ...(dashboard && { dashboard }) } });
    const merged = merge && { ...(await mergeInto(merge.into, cluster)), into: merge.into };
    return { ...cluster, ...(merged && { merged }), close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}
