import { setMaxListeners } from "node:events";
import { type BackoffPolicy, retry } from "../lib/backoff.ts";
import { findOrphans } from "./find-orphans.ts";
import { runHousekeeping } from "./housekeeping/run-housekeeping.ts";
import { createKubeletParts, type KubeletOptions, type KubeletParts } from "./kubelet-parts.ts";
import { runNodeLease } from "./node/node-lease.ts";
import { planShutdown, shutdownEnding } from "./node/plan-shutdown.ts";

export type { KubeletOptions };

/** A node's agent. Its pods go on when it stops; the next one takes them over. */
export interface Kubelet {
  /** Resolves once the node is registered and every pod that it should run is known; never when it stops before. */
  readonly ready: Promise<void>;
  /** The node goes down: no new pods, and those that are here end within the configured time. */
  shutDown(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** More make a burst of pods no faster, and each costs both ends a handshake and buffers. */
export const maxApiConnections = 16;

export async function createKubelet(options: KubeletOptions, signal: AbortSignal): Promise<Kubelet> {
  const parts = await createKubeletParts(options, signal);
  const ready = Promise.all([parts.nodeStatus.registered, parts.source.synced]).then(
    () => {},
    // Stopped before: it will not be ready, and that is no failure.
    () => new Promise<void>(() => {}),
  );
  return {
    ready,
    shutDown: () => shutDown(parts),
    run: (stop) => run(parts, AbortSignal.any([signal, stop])),
  };
}

/** Everything at once, until the signal aborts. */
async function run(parts: KubeletParts, stopped: AbortSignal): Promise<void> {
  const { observer, source, nodeStatus, config } = parts;
  // Every part and every pod's worker waits for it.
  setMaxListeners(0, stopped);
  const unlessStopped = (error: unknown) => {
    if (!stopped.aborted) throw error;
  };
  const observing = observer.run(stopped);
  // Workers decide by what runs: nothing may be decided before that is known.
  const sourcing = Promise.race([observer.synced, observing]).then(() =>
    Promise.all([source.run(stopped), endOrphans(parts, stopped).catch(unlessStopped)]),
  );
  const { nodeLeaseDurationSeconds: leaseDurationSeconds } = config;
  await Promise.all([
    observing,
    sourcing,
    parts.workers.run(stopped),
    parts.syncLoop.run(stopped),
    parts.recorder.run(stopped),
    nodeStatus.run(stopped),
    runNodeLease({ ...parts, node: nodeStatus.node, leaseDurationSeconds }, stopped),
    parts.writer.run(stopped),
    parts.objects.run(stopped),
    parts.volumes.run(stopped),
    parts.services.run(stopped),
    parts.runtimeClasses.run(stopped),
    runHousekeeping({ ...config, ...parts }, stopped),
  ]);
  parts.prober.close();
  await Promise.all([parts.server?.close(), parts.cgroups.close()]);
}

/** What a kubelet before this one left running, or lying about, of pods that nobody asks for any more. */
async function endOrphans(parts: KubeletParts, signal: AbortSignal): Promise<void> {
  const { source, observer, workers, volumes, clock, logger } = parts;
  await source.synced;
  for (const orphan of findOrphans(observer.list(), workers.has)) {
    workers.update({ pod: orphan, removed: true, inApi: undefined });
  }
  const left = (await volumes.podsOnDisk()).filter((podUid) => !workers.has(podUid));
  const onFailure = (error: unknown) => logger.warn("volumes of a pod before were not removed", { error });
  const trying = { policy: tearDownPolicy, clock, signal, onFailure };
  await Promise.all(left.map((podUid) => retry(() => volumes.tearDown(podUid), trying)));
  await parts.cgroups.sweep(workers.has);
}

const tearDownPolicy: BackoffPolicy = { initialMs: 50, maxMs: 2_000, factor: 2, resetAfterMs: 60_000 };

async function shutDown({ workers, config, beginShutdown }: KubeletParts): Promise<void> {
  beginShutdown();
  for (const { pods, graceSeconds } of planShutdown(workers.list(), config)) {
    const uids = pods.map(({ metadata }) => metadata.uid ?? "");
    await Promise.all(uids.map((uid) => workers.end(uid, shutdownEnding, graceSeconds)));
  }
}
