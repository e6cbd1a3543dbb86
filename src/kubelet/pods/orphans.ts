import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Container, Pod } from "../../api/meta/objects.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { PodCgroups } from "../cgroups/create-pod-cgroups.ts";
import type { ObservedContainer, ObservedPod } from "../model/observed-pod.ts";
import { logsDirectoryOf, podsDirectory, podUidOfLogs } from "../model/pod-paths.ts";
import type { SandboxOwnership } from "../ownership/open-ownership.ts";
import { unless } from "../volumes/held-directory.ts";
import type { PodVolumes } from "../volumes/pod-volumes.ts";
import { removeTree } from "../volumes/tear-down.ts";
import type { PodObserver } from "./pod-observer.ts";
import type { PodSource } from "./pod-source.ts";
import type { PodWorkers } from "./pod-workers.ts";

export interface OrphanOptions {
  readonly source: Pick<PodSource, "synced">;
  readonly ownership: Pick<SandboxOwnership, "settled">;
  readonly observer: Pick<PodObserver, "list">;
  readonly workers: Pick<PodWorkers, "has" | "update">;
  readonly volumes: Pick<PodVolumes, "tearDown">;
  readonly cgroups: Pick<PodCgroups, "remove" | "sweep">;
  /** Data directory of the kubelet. */
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const tearDownPolicy: BackoffPolicy = { initialMs: 50, maxMs: 2_000, factor: 2, resetAfterMs: 60_000 };

/**
 * Terminates pods that a previous kubelet left behind and that no source has any more. Of pods that the runtime does not
 * know either, removes the volumes, directories, logs and cgroups.
 */
export async function terminateOrphans(options: OrphanOptions, signal: AbortSignal): Promise<void> {
  const { source, ownership, observer, workers, volumes, cgroups, dataDir, clock, logger } = options;
  await Promise.all([source.synced, ownership.settled]);
  for (const orphan of findOrphans(observer.list(), workers.has)) {
    workers.update({ pod: orphan, removed: true, inApi: undefined });
  }
  const left = [...(await directoriesByPod(dataDir))].filter(([podUid]) => !workers.has(podUid));
  const onFailure = (error: unknown) =>
    logger.warn("failed to remove the directories of an orphaned pod, retrying", { error });
  const retrying = { policy: tearDownPolicy, clock, signal, onFailure };
  const removeAll = async (podUid: string, directories: readonly string[]) => {
    await volumes.tearDown(podUid);
    for (const directory of directories) await removeTree(directory);
  };
  await Promise.all(
    left.map(([podUid, directories]) => retry(() => removeAll(podUid, directories), retrying)),
  );
  await Promise.all(left.map(([podUid]) => cgroups.remove(podUid)));
  await cgroups.sweep(workers.has);
}

/** Lists the directories of pods and their logs in the data directory by pod UID. */
async function directoriesByPod(dataDir: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const byPod = new Map<string, string[]>();
  const add = async (parent: string, uidOf: (name: string) => string | undefined) => {
    const entries = await readdir(parent, { withFileTypes: true }).catch(unless<never>("ENOENT"));
    for (const entry of entries ?? []) {
      const podUid = entry.isDirectory() ? uidOf(entry.name) : undefined;
      if (podUid !== undefined) byPod.set(podUid, [...(byPod.get(podUid) ?? []), join(parent, entry.name)]);
    }
  };
  await add(podsDirectory(dataDir), (name) => name);
  await add(logsDirectoryOf(dataDir), podUidOfLogs);
  return byPod;
}

/** Pods that run in the runtime and that no source has, restored as far as the runtime's metadata allows. */
export function findOrphans(observed: Iterable<ObservedPod>, isWanted: (podUid: string) => boolean): Pod[] {
  return [...observed].filter(({ uid }) => !isWanted(uid)).map(restorePod);
}

/** Restores the fields that are needed to terminate the pod as its spec demanded. */
function restorePod({ uid, namespace, name, containers }: ObservedPod): Pod {
  // Containers are sorted newest first.
  const terminationGracePeriodSeconds = containers[0]?.graceSeconds;
  const restored = new Map<string, Container>();
  for (const container of containers.toReversed()) restored.set(container.name, restoreContainer(container));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { uid, namespace, name },
    spec: {
      ...(terminationGracePeriodSeconds !== undefined && { terminationGracePeriodSeconds }),
      containers: [...restored.values()],
    },
  };
}

function restoreContainer({ name, preStop, ports }: ObservedContainer): Container {
  return { name, ...(ports && { ports }), ...(preStop && { lifecycle: { preStop } }) };
}
