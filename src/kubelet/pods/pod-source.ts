import type { Node, Pod } from "../../api/meta/objects.ts";
import { isMirrorPod, mirrorAnnotation } from "../../api/pod/pod-state.ts";
import type { Client } from "../../client/api/client.ts";
import type { Informer } from "../../client/informers/informer.ts";
import { isAlreadyExists } from "../../client/transport/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { hashAnnotation, sourceAnnotation } from "../model/cri-labels.ts";
import { deletePod } from "./clean-up-pod.ts";
import type { PodWorkers } from "./pod-workers.ts";
import { runStaticPodSource } from "./static/static-pod-source.ts";

export interface PodSourceOptions {
  readonly client: Client;
  /** Informer for the pods that are bound to this node. */
  readonly pods: Informer<Pod>;
  readonly workers: Pick<PodWorkers, "update" | "remove">;
  readonly node: () => Promise<Pick<Node, "metadata">>;
  readonly nodeName: string;
  /** Empty if there are no static pods. */
  readonly staticPodPath: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface PodSource {
  /** Resolves when all pods of this node are known. */
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

const mirrorCheckMs = 30_000;

/** Source of pods: the API server and the static pod directory. A static pod is shown in the API as a mirror pod. */
export function createPodSource(options: PodSourceOptions): PodSource {
  const { client, pods, workers, clock, logger, staticPodPath } = options;
  const mirrorsMayDiffer = createWakeUp();
  /** Static pods by UID; undefined until the directory has been read. */
  let staticPods: ReadonlyMap<string, Pod> | undefined;
  const listStaticPods = () => [...(staticPods?.values() ?? [])];
  let firstRead = () => {};
  const staticPodsRead = new Promise<void>((resolve) => {
    firstRead = resolve;
  });

  const findMirror = (staticPod: Pod) =>
    pods.get(`${staticPod.metadata.namespace}/${staticPod.metadata.name}`);

  function updateStatic(staticPod: Pod): void {
    const mirror = findMirror(staticPod);
    const inApi = mirror && isMirrorOf(mirror, staticPod) ? mirror : undefined;
    workers.update({ pod: staticPod, removed: false, inApi });
  }

  pods.onChange(({ kind, object: pod }) => {
    if (isMirrorPod(pod)) {
      const shown = listStaticPods().find((staticPod) => isMirrorOf(pod, staticPod));
      if (shown) updateStatic(shown);
      mirrorsMayDiffer.wake();
    } else if (kind === "deleted") {
      workers.remove(pod.metadata.uid ?? "");
    } else {
      workers.update({ pod, removed: false, inApi: pod });
    }
  });

  function takeStaticPods(read: ReadonlyMap<string, Pod>): void {
    const before = staticPods ?? new Map();
    staticPods = read;
    for (const uid of before.keys()) if (!read.has(uid)) workers.remove(uid);
    for (const [uid, pod] of read) if (!before.has(uid)) updateStatic(pod);
    mirrorsMayDiffer.wake();
    firstRead();
  }

  async function keepMirrors(signal: AbortSignal): Promise<void> {
    const notWritten = (error: unknown) => {
      if (!signal.aborted) logger.warn("failed to update a mirror pod, retrying", { error });
    };
    // Rejects when the kubelet stops before the first list.
    await pods.synced.catch(() => {});
    while (!signal.aborted) {
      const woken = mirrorsMayDiffer.next();
      for (const staticPod of listStaticPods()) {
        const mirror = findMirror(staticPod);
        await keepMirrorPod(options, { staticPod, mirror, signal }).catch(notWritten);
      }
      // Until the directory has been read, it is not known which mirror pods are obsolete.
      for (const mirror of staticPods ? [...pods.list()].filter(isMirrorPod) : []) {
        const shows = listStaticPods().some((staticPod) => isMirrorOf(mirror, staticPod));
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

export function isMirrorOf(mirror: Pod, staticPod: Pod): boolean {
  return mirror.metadata.annotations?.[mirrorAnnotation] === staticPod.metadata.annotations?.[hashAnnotation];
}

/** Mirror pod of a static pod, owned by its node. */
export function buildMirrorPod(staticPod: Pod, node: Pick<Node, "metadata">): Pod {
  const { name, namespace, labels, annotations = {} } = staticPod.metadata;
  const hash = annotations[hashAnnotation] ?? "";
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      annotations: { ...annotations, [sourceAnnotation]: "file", [mirrorAnnotation]: hash },
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "Node",
          name: node.metadata.name ?? "",
          uid: node.metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    ...(staticPod.spec && { spec: staticPod.spec }),
  };
}

export interface MirrorDeps {
  readonly client: Client;
  readonly node: () => Promise<Pick<Node, "metadata">>;
}

/** Creates the mirror pod of a static pod, after deleting one of an older version of the manifest. */
export async function keepMirrorPod(
  { client, node }: MirrorDeps,
  { staticPod, mirror, signal }: { staticPod: Pod; mirror: Pod | undefined; signal: AbortSignal },
): Promise<void> {
  if (mirror) {
    if (isMirrorOf(mirror, staticPod) && !mirror.metadata.deletionTimestamp) return;
    await deletePod(client, mirror, signal);
  }
  try {
    await client.create("pods", buildMirrorPod(staticPod, await node()), { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
