import { setMaxListeners } from "node:events";
import { createKubeletParts, type KubeletOptions, type KubeletParts } from "./kubelet-parts.ts";
import { runNodeLease } from "./node/node-lease.ts";
import { planShutdown, shutdownEnding } from "./node/plan-shutdown.ts";
import { runHousekeeping } from "./pods/housekeeping/run-housekeeping.ts";
import { terminateOrphans } from "./pods/orphans.ts";

export type { KubeletOptions };

/** Kubelet of one node. Its containers keep running when it stops; the next kubelet takes them over. */
export interface Kubelet {
  /** Resolves when the node is registered and all of its pods are known. Never resolves if the kubelet stops before. */
  readonly ready: Promise<void>;
  /** Shuts the node down: rejects new pods and terminates the others within the configured grace periods. */
  shutDown(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** Maximum number of connections to the API server. More connections do not speed up a burst of pods. */
export const maxApiConnections = 16;

export async function createKubelet(options: KubeletOptions, signal: AbortSignal): Promise<Kubelet> {
  const parts = await createKubeletParts(options, signal);
  const { nodeStatus, source, ownership } = parts;
  const ready = Promise.all([nodeStatus.registered, source.synced, ownership.settled]).then(
    () => {},
    // The kubelet was stopped before it was ready, which is not a failure.
    () => new Promise<void>(() => {}),
  );
  return {
    ready,
    shutDown: () => shutDown(parts),
    run: (stop) => run(parts, AbortSignal.any([signal, stop])),
  };
}

/** Runs all parts until the signal aborts, or until the API server turns out to belong to another cluster. */
async function run(parts: KubeletParts, signal: AbortSignal): Promise<void> {
  const refused = new AbortController();
  const stopped = AbortSignal.any([signal, refused.signal]);
  const { client, cri, clock, logger, config, nodeName, dataDir } = parts;
  const { observer, source, ownership, workers, volumes, cgroups, nodeStatus } = parts;
  // Every part and every pod worker listens to this signal.
  setMaxListeners(0, stopped);
  const unlessStopped = (error: unknown) => {
    if (!stopped.aborted) throw error;
  };
  const observing = observer.run(stopped);
  // Pods are synced only after the state of the runtime is known.
  const sourcing = Promise.race([observer.synced, observing]).then(() =>
    Promise.all([
      source.run(stopped),
      terminateOrphans(
        { source, ownership, observer, workers, volumes, cgroups, dataDir, clock, logger },
        stopped,
      ).catch(unlessStopped),
    ]),
  );
  const { nodeLeaseDurationSeconds: leaseDurationSeconds } = config;
  const { containerLogMaxSizeBytes, containerLogMaxFiles } = config;
  await Promise.all([
    ownership.run(stopped).catch((error) => refused.abort(error)),
    observing,
    sourcing,
    workers.run(stopped),
    parts.syncLoop.run(stopped),
    parts.recorder.run(stopped),
    nodeStatus.run(stopped),
    runNodeLease({ client, clock, logger, nodeName, node: nodeStatus.node, leaseDurationSeconds }, stopped),
    parts.writer.run(stopped),
    parts.objects.run(stopped),
    volumes.run(stopped),
    parts.services.run(stopped),
    parts.runtimeClasses.run(stopped),
    runHousekeeping(
      { cri, observer, containerLogMaxSizeBytes, containerLogMaxFiles, clock, logger },
      stopped,
    ),
  ]);
  parts.prober.close();
  await Promise.all([parts.server?.close(), cgroups.close()]);
  if (!signal.aborted) refused.signal.throwIfAborted();
}

async function shutDown({ workers, config, beginShutdown }: KubeletParts): Promise<void> {
  beginShutdown();
  for (const { pods, graceSeconds } of planShutdown(workers.list(), config)) {
    const uids = pods.map(({ metadata }) => metadata.uid ?? "");
    await Promise.all(uids.map((uid) => workers.terminate(uid, shutdownEnding, graceSeconds)));
  }
}
