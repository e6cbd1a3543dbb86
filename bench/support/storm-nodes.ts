import { setMaxListeners } from "node:events";
import { setImmediate as nextTick } from "node:timers/promises";
import type { Pod } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { createEventRecorder } from "../../src/client/event-recorder.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { defaultKubeletConfiguration } from "../../src/kubelet/configuration/kubelet-configuration.ts";
import { createImagePuller } from "../../src/kubelet/image/create-image-puller.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";

export interface StormNodes {
  readonly client: Client;
  /** Their numbers: from this one on, up to that one. */
  readonly from: number;
  readonly to: number;
  readonly pullsPerNode: number;
  /** How often a runtime reports of each pull. */
  readonly reportSeconds: number;
}

/** Of events: those in the API, those of them that tell how far a pull is, and those that kubelets gave up. */
export interface StormCounts {
  readonly written: number;
  readonly progress: number;
  readonly dropped: number;
}

/**
 * The image pullers and event recorders of so many kubelets, real ones, with runtimes whose pulls never end. They say
 * how far they are from `report` on.
 */
export async function startStormNodes({ client, from, to, pullsPerNode, reportSeconds }: StormNodes) {
  let written = 0;
  let progress = 0;
  const count = (message: string | undefined) => {
    written++;
    if (message?.includes("Container image")) progress++;
  };
  const counting: Pick<Client, "create" | "patch"> = {
    async create(resource, object, options) {
      const created = await client.create(resource, object, options);
      count("message" in object ? String(object.message) : undefined);
      return created;
    },
    async patch(resource, key, options) {
      const patched = await client.patch(resource, key, options);
      count("message" in patched ? String(patched.message) : undefined);
      return patched;
    },
  };
  const runtime = createReportingRuntime({ pullsPerNode, reportSeconds });
  const dropped: (() => number)[] = [];
  for (let node = from; node < to; node++) {
    dropped.push(startNode(node, { client: counting, pullsPerNode, images: runtime.images }));
    if (node % 50 === 0) await nextTick();
  }
  return {
    counts: (): StormCounts => ({ written, progress, dropped: dropped.reduce((sum, of) => sum + of(), 0) }),
    report: runtime.report,
  };
}

interface NodeParts {
  readonly client: Pick<Client, "create" | "patch">;
  readonly pullsPerNode: number;
  readonly images: CriClient["images"];
}

/** Answers with how many of its events it gave up. */
function startNode(node: number, { client, pullsPerNode, images }: NodeParts): () => number {
  const nodeName = `node-${node}`;
  const common = { clock: systemClock, logger: silentLogger };
  // One for each node: adding a listener to a signal takes the longer the more it has.
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const recorder = createEventRecorder({ ...common, client, component: "kubelet", host: nodeName });
  const puller = createImagePuller({
    ...common,
    cri: { images },
    getSecret: async () => undefined,
    nodeName,
    recorder,
    eventWriteMs: recorder.writeMs,
    config: { ...defaultKubeletConfiguration, serializeImagePulls: false },
    features: { ImagePullProgress: true },
  });
  void recorder.run(signal);
  for (let i = 0; i < pullsPerNode; i++) {
    const container = { name: "c", image: `registry.example/app-${i}:1` };
    void puller.ensureImage({ pod: podOf(node, i), container, runtimeHandler: "", signal });
  }
  return recorder.dropped;
}

/** Where all nodes began at one instant: the same pull of each reports at the same time. */
function createReportingRuntime({ pullsPerNode, reportSeconds }: Omit<StormNodes, "client" | "from" | "to">) {
  const groups = Array.from({ length: pullsPerNode }, () => new Set<() => void>());
  const total = 64 * 2 ** 30;
  let pulls = 0;
  let beats = 0;

  function beat(): void {
    const woken = groups[beats++ % pullsPerNode];
    for (const wake of [...(woken ?? [])]) {
      woken?.delete(wake);
      wake();
    }
  }
  const images: Partial<CriClient["images"]> = {
    imageStatus: async () => ({ image: undefined, info: {} }),
    async *pullImageWithProgress() {
      const group = groups[pulls++ % pullsPerNode];
      for (let offset = 2 ** 20; ; offset += 100 * 2 ** 20) {
        await new Promise<void>((resolve) => group?.add(resolve));
        yield {
          imageRef: "",
          offset: { value: BigInt(offset) },
          total: { value: BigInt(total) },
          details: [],
        };
      }
    },
  };
  return {
    images: images as CriClient["images"],
    report: () => void setInterval(beat, (1_000 * reportSeconds) / pullsPerNode),
  };
}

function podOf(node: number, index: number): Pod {
  const name = `storm-${node}-${index}`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { containers: [] },
  };
}
