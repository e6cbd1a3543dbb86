import { rm } from "node:fs/promises";
import type { Merged } from "../client/kubeconfig/merge-kubeconfig.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";
import { openDataDir } from "./data-dir/open-data-dir.ts";
import { closeAfter, closeInTurn } from "./host/close-in-turn.ts";
import { unmountBelow } from "./host/unmount-below.ts";
import { mergeAccess, unmergeAccess } from "./parts/merge-access.ts";

export interface UpOptions extends ClusterOptions {
  /** Whether the directory was created for this run and is removed at its end. */
  readonly temporary?: boolean;
  /** Kubeconfig into which the access is merged. */
  readonly merge?: { readonly into: string; readonly makeCurrent: boolean };
}

export interface Up extends Cluster {
  readonly merged?: Merged & { readonly into: string };
}

/**
 * Starts a cluster in its own data directory and records the running process there. If the signal aborts the start, the
 * parts are stopped and the reason of the signal is thrown.
 */
export async function startUp(options: UpOptions): Promise<Up> {
  const { dataDir, temporary = false, ephemeral = false, runtime, store, merge, logger, signal } = options;
  signal?.throwIfAborted();
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

  const unmerge = async () =>
    ephemeral && unmergeAccess(directory.record.mergedInto, { dataDir, clock: systemClock });
  const close = () => closeInTurn(async () => cluster?.close(), directory.release, removeTemporary, unmerge);

  async function mergeInto(into: string, { kubeconfig }: Cluster): Promise<Merged> {
    // Recorded first, so that a kill in between does not leave an unknown entry.
    await directory.update({ mergedInto: [...new Set([...directory.record.mergedInto, into])] });
    const makeCurrent = merge?.makeCurrent ?? false;
    // Waiting for the lock of the file ends with the start.
    const clock: Clock = { ...systemClock, sleep: (ms) => systemClock.sleep(ms, signal) };
    return mergeAccess({ dataDir, kubeconfig, into, makeCurrent, clock });
  }

  try {
    cluster = await startCluster(options);
    const { url, kubeconfig, dashboard, nodes } = cluster;
    const runtimeName = nodes[0]?.runtimeName ?? runtime.kind;
    await directory.update({ serving: { url, kubeconfig, runtimeName, ...(dashboard && { dashboard }) } });
    const merged = merge && { ...(await mergeInto(merge.into, cluster)), into: merge.into };
    signal?.throwIfAborted();
    return { ...cluster, ...(merged && { merged }), close };
  } catch (error) {
    // A cluster that was stopped while starting has thrown the reason, or an error from closing.
    const isStop = signal?.aborted === true && (cluster !== undefined || error === signal.reason);
    return closeAfter(isStop ? signal.reason : error, { isStop, close });
  }
}
