import { status } from "@grpc/grpc-js";
import type { CriClient } from "../cri/cri-client.ts";
import type { Clock } from "../lib/clock.ts";
import { isGrpcError } from "../lib/grpc-call.ts";
import type { Logger } from "../lib/logger.ts";
import { fingerprint, listByPod, type PodListing } from "./container/list-by-pod.ts";
import type { ObservedPod } from "./observed-pod.ts";

/** What the runtime has, pod by pod. The runtime's events keep it current; a slow relist finds what they missed. */
export interface PodObserver {
  get(podUid: string): ObservedPod | undefined;
  list(): Iterable<ObservedPod>;
  /** Asks the runtime anew. What it answers is at least as new as this call. */
  refresh(podUid: string): Promise<ObservedPod | undefined>;
  /** Called after each change of what is known of a pod. */
  onChange(handler: (podUid: string) => void): void;
  /** Resolves once everything in the runtime has been seen. */
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export interface PodObserverOptions {
  readonly cri: CriClient;
  /** The pod as the runtime's detailed answers describe it; undefined when nothing is left of it. */
  readonly inspect: (listing: PodListing) => Promise<ObservedPod | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Without events (containerd before 1.7) this is all there is, so it is as quick as upstream's. */
const relistMs = 1_000;
const relistWithEventsMs = 30_000;
const reconnectMs = 500;

export function createPodObserver(options: PodObserverOptions): PodObserver {
  const { cri, clock, logger } = options;
  const pods = new Map<string, ObservedPod>();
  const prints = new Map<string, string>();
  const looks = new Map<string, Look>();
  const handlers: ((podUid: string) => void)[] = [];
  let markSynced = () => {};
  const synced = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  let hasEvents = false;

  async function look(podUid: string): Promise<ObservedPod | undefined> {
    const labelSelector = { "io.kubernetes.pod.uid": podUid };
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: { id: "", state: undefined, labelSelector } }),
      cri.runtime.listContainers({ filter: { id: "", state: undefined, podSandboxId: "", labelSelector } }),
    ]);
    const listing = listByPod(sandboxes.items, containers.containers).get(podUid);
    const observed = listing && (await options.inspect(listing));
    keep(podUid, observed, listing);
    return observed;
  }

  function keep(podUid: string, observed: ObservedPod | undefined, listing: PodListing | undefined): void {
    const before = pods.get(podUid);
    if (observed && listing) {
      pods.set(podUid, observed);
      prints.set(podUid, fingerprint(listing));
    } else {
      pods.delete(podUid);
      prints.delete(podUid);
    }
    if (JSON.stringify(before) === JSON.stringify(observed)) return;
    for (const handler of handlers) handler(podUid);
  }

  /** At most one look at a pod at a time, and one more for all who ask while it runs. */
  function refresh(podUid: string): Promise<ObservedPod | undefined> {
    const running = looks.get(podUid);
    if (running) {
      running.next ??= running.done.then(
        () => refresh(podUid),
        () => refresh(podUid),
      );
      return running.next;
    }
    const entry: Look = { done: look(podUid).finally(() => looks.delete(podUid)), next: undefined };
    looks.set(podUid, entry);
    return entry.done;
  }

  async function relist(): Promise<void> {
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: undefined }),
      cri.runtime.listContainers({ filter: undefined }),
    ]);
    const listings = listByPod(sandboxes.items, containers.containers);
    const changed = [...listings].filter(([uid, listing]) => fingerprint(listing) !== prints.get(uid));
    const gone = [...pods.keys()].filter((uid) => !listings.has(uid));
    await Promise.all([...changed.map(([uid]) => refresh(uid)), ...gone.map((uid) => refresh(uid))]);
    markSynced();
  }

  async function relistForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await relist();
      } catch (error) {
        logger.warn("the runtime does not list its pods", { error });
      }
      await clock.sleep(hasEvents ? relistWithEventsMs : relistMs, signal).catch(() => {});
    }
  }

  async function followEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const event of cri.runtime.getContainerEvents({}, { signal })) {
          // An answer at all means that it has events: from now on the relist may be slow.
          if (!hasEvents) hasEvents = true;
          const podUid = event.podSandboxStatus?.metadata?.uid;
          if (podUid)
            refresh(podUid).catch((error) => logger.debug("a pod could not be looked at", { error }));
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isGrpcError(error, status.UNIMPLEMENTED)) {
          logger.info("the runtime has no container events: pods are listed every second instead");
          return;
        }
        logger.debug("the runtime's events ended", { error });
      }
      hasEvents = false;
      await clock.sleep(reconnectMs, signal).catch(() => {});
      await relist().catch(() => {});
    }
  }

  return {
    get: (podUid) => pods.get(podUid),
    list: () => pods.values(),
    refresh,
    onChange: (handler) => void handlers.push(handler),
    synced,
    run: async (signal) => {
      await Promise.all([relistForever(signal), followEvents(signal)]);
    },
  };
}

interface Look {
  readonly done: Promise<ObservedPod | undefined>;
  next: Promise<ObservedPod | undefined> | undefined;
}
