import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Pod } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { createEventRecorder, type RunningEventRecorder } from "../../src/client/event-recorder.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { defaultKubeletConfiguration } from "../../src/kubelet/configuration/kubelet-configuration.ts";
import { createImagePuller } from "../../src/kubelet/image/create-image-puller.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";

interface Storm {
  readonly client: Client;
  readonly nodes: number;
  readonly pullsPerNode: number;
  readonly withProgress: boolean;
}

export interface RunningStorm {
  /** Events that kubelets wanted to be written, and those that they gave up. */
  readonly counts: () => { readonly recorded: number; readonly progress: number; readonly dropped: number };
  /** Until the events that every pull begins with are written, and the first of those that tell how far one is. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * A pull here reports once in so many seconds, half of a node's each second; real ones all report each second. The API
 * server does not see the difference: a node may tell of one pull a second, and always has one that asks to.
 */
const reportEverySeconds = 2;
const total = 64 * 2 ** 30;

/** The image pullers and event recorders of so many kubelets, real ones, with runtimes whose pulls never end. */
export function startPullStorm({ client, nodes, pullsPerNode, withProgress }: Storm): RunningStorm {
  let written = 0;
  const counting: Pick<Client, "create" | "patch"> = {
    patch: client.patch,
    async create(resource, object, options) {
      const created = await client.create(resource, object, options);
      written++;
      return created;
    },
  };
  const stop = new AbortController();
  const beats = createBeats(stop.signal);
  // One for each node: adding a listener to a signal takes the longer the more it has.
  const stops: AbortController[] = [];
  let recorded = 0;
  let progress = 0;
  const recorders: RunningEventRecorder[] = [];
  const running: Promise<unknown>[] = [];
  for (let node = 0; node < nodes; node++) {
    const host = `node-${node}`;
    const ending = new AbortController();
    const { signal } = ending;
    setMaxListeners(0, signal);
    stops.push(ending);
    const recorder = createEventRecorder({
      client: counting,
      component: "kubelet",
      host,
      clock: systemClock,
      logger: silentLogger,
    });
    recorders.push(recorder);
    const puller = createImagePuller({
      cri: { images: endlessPulls(beats) },
      getSecret: async () => undefined,
      recorder: {
        record(about, event) {
          recorded++;
          if (event.message.includes("Container image")) progress++;
          recorder.record(about, event);
        },
      },
      eventWriteMs: recorder.writeMs,
      config: { ...defaultKubeletConfiguration, serializeImagePulls: false },
      features: { ImagePullProgress: withProgress },
      clock: systemClock,
      logger: silentLogger,
    });
    running.push(recorder.run(signal));
    for (let i = 0; i < pullsPerNode; i++) {
      const pod = podOf(node, i);
      const container = { name: "c", image: `registry.example/app-${i}:1` };
      running.push(puller.ensureImage({ pod, container, runtimeHandler: "", signal }));
    }
  }
  return {
    counts: () => ({
      recorded,
      progress,
      dropped: recorders.reduce((sum, recorder) => sum + recorder.dropped(), 0),
    }),
    async settled() {
      while (written < nodes * pullsPerNode || (withProgress && progress === 0)) await delay(500);
    },
    async stop() {
      for (const ending of stops) ending.abort();
      stop.abort();
      await Promise.allSettled(running);
    },
  };
}

/** One timer for all: each pull has its own second of the interval. */
function createBeats(signal: AbortSignal) {
  const waiting = Array.from({ length: reportEverySeconds }, () => new Set<() => void>());
  let second = 0;
  const timer = setInterval(() => {
    const turn = waiting[second++ % reportEverySeconds];
    const woken = [...(turn ?? [])];
    turn?.clear();
    for (const wake of woken) wake();
  }, 1_000);
  signal.addEventListener(
    "abort",
    () => {
      clearInterval(timer);
      for (const turn of waiting) for (const wake of turn) wake();
    },
    { once: true },
  );
  let pulls = 0;
  return () => {
    const turn = waiting[pulls++ % reportEverySeconds];
    return () => new Promise<void>((resolve) => turn?.add(resolve));
  };
}

function endlessPulls(beats: () => () => Promise<void>): CriClient["images"] {
  const images: Partial<CriClient["images"]> = {
    imageStatus: async () => ({ image: undefined, info: {} }),
    pullImage: (_request, call) => aborted(call?.signal),
    async *pullImageWithProgress(_request, call) {
      const nextBeat = beats();
      for (let offset = 2 ** 20; ; offset += 100 * 2 ** 20) {
        yield {
          imageRef: "",
          offset: { value: BigInt(offset) },
          total: { value: BigInt(total) },
          details: [],
        };
        await nextBeat();
        call?.signal?.throwIfAborted();
      }
    },
  };
  return images as CriClient["images"];
}

/** Rejects when its caller gives up. */
function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) =>
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
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
