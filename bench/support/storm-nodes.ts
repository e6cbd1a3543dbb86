import { setMaxListeners } from "node:events";
import { setImmediate as nextTick } from "node:timers/promises";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { createEventRecorder } from "../../src/client/events/event-recorder.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { defaultKubeletConfiguration } from "../../src/kubelet/config/kubelet-configuration.ts";
import { createImagePuller } from "../../src/kubelet/images/image-puller.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createMetrics } from "../../src/lib/metrics/metrics.ts";

export interface StormNodes {
  readonly client: Client;
  /** Range of node numbers. */
  readonly from: number;
  readonly to: number;
  readonly pullsPerNode: number;
  /** Interval between the reports of a pull. */
  readonly reportSeconds: number;
}

/** Numbers of events: in the API, those of them that report pull progress, and those that kubelets dropped. */
export interface StormCounts {
  readonly written: number;
  readonly progress: number;
  readonly dropped: number;
}

/**
 * Image pullers and event recorders of the kubelet for each node, with runtimes whose pulls never end. The runtimes report progress
 * after `report` is called.
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

/** Returns the number of dropped events. */
function startNode(node: number, { client, pullsPerNode, images }: NodeParts): () => number {
  const nodeName = `node-${node}`;
  const common = { clock: systemClock, logger: silentLogger };
  // One signal per node: adding a listener takes longer the more listeners a signal has.
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const recorder = createEventRecorder({ ...common, client, component: "kubelet", host: nodeName });
  const puller = createImagePuller({
    metrics: createMetrics(),
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

/** Runtime shared by all nodes, as if they had started at the same time: the same pull of each node reports at the same time. */
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
