import { rm } from "node:fs/promises";
import type { Merged } from "../client/merge-kubeconfig.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { closeAfter, closeInTurn } from "./close-in-turn.ts";
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

/**
 * A cluster in a data directory of its own, with a note there of who runs it. When its signal aborts a start, that
 * ends as a stop does, and the signal's reason is thrown.
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
    // Noted first: a kill in between must not leave an entry that nobody knows of.
    await directory.update({ mergedInto: [...new Set([...directory.record.mergedInto, into])] });
    const makeCurrent = merge?.makeCurrent ?? false;
    // Whoever else changes the file is not waited for any longer than the start is.
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
    // A cluster that was stopped while it started has thrown the reason, or what it could not close.
    const isStop = signal?.aborted === true && (cluster !== undefined || error === signal.reason);
    return closeAfter(isStop ? signal.reason : error, { isStop, close });
  }
}
