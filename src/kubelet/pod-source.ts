import { isMirrorPod } from "../api/mirror-pod.ts";
import type { Node, Pod } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import type { Informer } from "../client/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { deletePod } from "./delete-pod.ts";
import type { PodWorkers } from "./pod-workers.ts";
import { isMirrorOf, keepMirrorPod } from "./static-pod/keep-mirror-pod.ts";
import { runStaticPodSource } from "./static-pod/static-pod-source.ts";

export interface PodSourceOptions {
  readonly client: Client;
  /** Of the pods that are bound to this node. */
  readonly pods: Informer<Pod>;
  readonly workers: Pick<PodWorkers, "update" | "remove">;
  readonly node: () => Promise<Pick<Node, "metadata">>;
  readonly nodeName: string;
  /** Empty where there are no static pods. */
  readonly staticPodPath: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PodSource {
  /** Resolves once every pod that this node should run is known. */
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

const mirrorCheckMs = 30_000;

/** Where pods come from: the API, and a directory of the node. A static pod shows in the API as a mirror pod. */
export function createPodSource(options: PodSourceOptions): PodSource {
  const { client, pods, workers, clock, logger, staticPodPath } = options;
  const mirrorsMayDiffer = createWakeUp();
  let staticPods: ReadonlyMap<string, Pod> = new Map();
  let firstRead = () => {};
  const staticPodsRead = new Promise<void>((resolve) => {
    firstRead = resolve;
  });

  const findMirror = (staticPod: Pod) =>
    pods.get(`${staticPod.metadata.namespace}/${staticPod.metadata.name}`);

  function tellStatic(staticPod: Pod): void {
    const mirror = findMirror(staticPod);
    const inApi = mirror && isMirrorOf(mirror, staticPod) ? mirror : undefined;
    workers.update({ pod: staticPod, removed: false, inApi });
  }

  pods.onChange(({ kind, object: pod }) => {
    if (isMirrorPod(pod)) {
      const shown = [...staticPods.values()].find((staticPod) => isMirrorOf(pod, staticPod));
      if (shown) tellStatic(shown);
      mirrorsMayDiffer.wake();
    } else if (kind === "deleted") {
      workers.remove(pod.metadata.uid ?? "");
    } else {
      workers.update({ pod, removed: false, inApi: pod });
    }
  });

  function takeStaticPods(read: ReadonlyMap<string, Pod>): void {
    const before = staticPods;
    staticPods = read;
    for (const uid of before.keys()) if (!read.has(uid)) workers.remove(uid);
    for (const [uid, pod] of read) if (!before.has(uid)) tellStatic(pod);
    mirrorsMayDiffer.wake();
    firstRead();
  }

  async function keepMirrors(signal: AbortSignal): Promise<void> {
    const notWritten = (error: unknown) => {
      if (!signal.aborted) logger.warn("a mirror pod could not be written", { error });
    };
    await pods.synced;
    while (!signal.aborted) {
      const woken = mirrorsMayDiffer.next();
      for (const staticPod of staticPods.values()) {
        const mirror = findMirror(staticPod);
        await keepMirrorPod(options, { staticPod, mirror, signal }).catch(notWritten);
      }
      for (const mirror of [...pods.list()].filter(isMirrorPod)) {
        const shows = [...staticPods.values()].some((staticPod) => isMirrorOf(mirror, staticPod));
        if (!shows) await deletePod(client, mirror, signal).catch(notWritten);
      }
      await woken.orAt(clock.now() + mirrorCheckMs, { clock, signal }).catch(() => {});
    }
  }

  return {
    synced: Promise.all([pods.synced, staticPodsRead]).then(() => {}),
    async run(signal) {
      if (!staticPodPath) {
        firstRead();
        await pods.run(signal);
        return;
      }
      const reading = { ...options, directory: staticPodPath, onPods: takeStaticPods };
      await Promise.all([pods.run(signal), runStaticPodSource(reading, signal), keepMirrors(signal)]);
    },
  };
}
