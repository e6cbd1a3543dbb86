import { status } from "@grpc/grpc-js";
import type { CriClient } from "../cri/cri-client.ts";
import { type ContainerEventResponse, ContainerEventType } from "../cri/generated/cri.ts";
import { createChildAbort } from "../lib/child-abort.ts";
import type { Clock } from "../lib/clock.ts";
import { isGrpcError } from "../lib/grpc-call.ts";
import { createKeyedMutex } from "../lib/keyed-mutex.ts";
import type { Logger } from "../lib/logger.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { podLabels } from "./container/cri-labels.ts";
import { inspectPod, readAnswers } from "./container/inspect-pod.ts";
import { isCurrent, listByPod } from "./container/list-by-pod.ts";
import { updateObserved } from "./container/observe-pod.ts";
import type { ObservedPod } from "./observed-pod.ts";

/** What the runtime has, pod by pod. The runtime's events keep it current; a slow relist finds what they missed. */
export interface PodObserver {
  get(podUid: string): ObservedPod | undefined;
  list(): Iterable<ObservedPod>;
  /** Asks the runtime anew. What it answers is at least as new as this call. */
  refresh(podUid: string): Promise<ObservedPod | undefined>;
  /** Sees to it that one sandbox, or one container in it, that has just been started is known. */
  refreshPart(podUid: string, part: PodPart): Promise<void>;
  /** Called after each change of what is known of a pod. */
  onChange(handler: (podUid: string) => void): void;
  /** When the runtime has last listed its pods; before it has, when this began to wait for it. */
  listedAt(): number;
  /** Resolves once everything in the runtime has been seen. */
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export interface PodPart {
  readonly sandboxId: string;
  readonly containerId?: string;
}

type ObserverCall =
  | "listPodSandbox"
  | "listContainers"
  | "podSandboxStatus"
  | "containerStatus"
  | "getContainerEvents";

export interface PodObserverOptions {
  readonly cri: { readonly runtime: Pick<CriClient["runtime"], ObserverCall> };
  /** The kubelet's own: containers that have ended left their last words there. */
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Without events (containerd before 1.7) this is all there is, so it is as quick as upstream's. */
const relistMs = 1_000;
const relistWithEventsMs = 30_000;
/** A runtime without events says so sooner. */
const eventsProvenMs = 500;
const reconnectMs = 500;

export function createPodObserver(options: PodObserverOptions): PodObserver {
  const { cri, clock, logger } = options;
  const pods = new Map<string, ObservedPod>();
  const handlers: ((podUid: string) => void)[] = [];
  /** One look at a pod at a time: an older answer never replaces a newer one. */
  const turns = createKeyedMutex();
  /** Looks that have not begun: they serve all who ask meanwhile. */
  const waiting = new Map<string, Promise<ObservedPod | undefined>>();
  let markSynced = () => {};
  const synced = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  const relistSooner = createWakeUp();
  let hasEvents = false;
  let listedAt = clock.now();

  async function look(podUid: string): Promise<ObservedPod | undefined> {
    const labelSelector = { [podLabels.uid]: podUid };
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: { id: "", state: undefined, labelSelector } }),
      cri.runtime.listContainers({ filter: { id: "", state: undefined, podSandboxId: "", labelSelector } }),
    ]);
    const listing = listByPod(sandboxes.items, containers.containers).get(podUid);
    return keep(podUid, listing && (await inspectPod(options, listing)));
  }

  function keep(podUid: string, observed: ObservedPod | undefined): ObservedPod | undefined {
    const before = pods.get(podUid);
    if (observed) pods.set(podUid, observed);
    else pods.delete(podUid);
    if (JSON.stringify(before) !== JSON.stringify(observed)) for (const handler of handlers) handler(podUid);
    return observed;
  }

  function refresh(podUid: string): Promise<ObservedPod | undefined> {
    const asked = waiting.get(podUid);
    if (asked) return asked;
    const looking = turns.run(podUid, () => {
      waiting.delete(podUid);
      return look(podUid);
    });
    waiting.set(podUid, looking);
    return looking;
  }

  async function refreshPart(podUid: string, { sandboxId, containerId }: PodPart): Promise<void> {
    const parts = containerId
      ? { sandboxes: [], containers: [{ id: containerId, podSandboxId: sandboxId }] }
      : { sandboxes: [{ id: sandboxId }], containers: [] };
    await turns.run(podUid, async () => {
      // Its event may have been quicker than the answer to the call that made it.
      if (isKnown(pods.get(podUid), { sandboxId, containerId })) return;
      const part = await inspectPod(options, parts);
      if (part) keep(podUid, updateObserved(pods.get(podUid), part));
      else await look(podUid);
    });
  }

  /** Takes over what an event says: it has the state of the sandbox that it is about, and of all containers in it. */
  async function hear(event: ContainerEventResponse): Promise<void> {
    const sandbox = event.podSandboxStatus;
    const podUid = sandbox?.metadata?.uid;
    // Who made something looks at it: nothing has happened to it yet that anybody would have to be told.
    if (!podUid || event.containerEventType === ContainerEventType.CONTAINER_CREATED_EVENT) return;
    if (event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT) {
      await refresh(podUid);
      return;
    }
    await turns.run(podUid, async () => {
      const containers = event.containersStatuses.map((it) => ({ sandboxId: sandbox.id, status: it }));
      const told = await readAnswers(options, { sandboxes: [sandbox], containers });
      if (told?.uid === podUid) keep(podUid, updateObserved(pods.get(podUid), told));
    });
  }

  async function relist(signal: AbortSignal): Promise<void> {
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: undefined }, { signal }),
      cri.runtime.listContainers({ filter: undefined }, { signal }),
    ]);
    const listings = listByPod(sandboxes.items, containers.containers);
    const changed = [...listings].filter(([uid, listing]) => !isCurrent(pods.get(uid), listing));
    const gone = [...pods.keys()].filter((uid) => !listings.has(uid));
    await Promise.all([...changed.map(([uid]) => refresh(uid)), ...gone.map((uid) => refresh(uid))]);
    listedAt = clock.now();
    markSynced();
  }

  async function relistForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = relistSooner.next();
      try {
        await relist(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("the runtime does not list its pods", { error });
      }
      const nextAt = clock.now() + (hasEvents ? relistWithEventsMs : relistMs);
      await woken.orAt(nextAt, { clock, signal }).catch(() => {});
    }
  }

  /** What happened before the events could be heard is not among them. */
  function setHasEvents(value: boolean): void {
    if (hasEvents !== value) relistSooner.wake();
    hasEvents = value;
  }

  async function followEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ended = createChildAbort(signal);
      clock.sleep(eventsProvenMs, ended.signal).then(
        () => setHasEvents(true),
        () => {},
      );
      try {
        for await (const event of cri.runtime.getContainerEvents({}, { signal })) {
          hear(event).catch((error) => logger.debug("a pod could not be looked at", { error }));
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isGrpcError(error, status.UNIMPLEMENTED)) {
          logger.info("the runtime has no container events: pods are listed every second instead");
          return;
        }
        logger.debug("the runtime's events ended", { error });
      } finally {
        ended.abort();
        setHasEvents(false);
      }
      await clock.sleep(reconnectMs, signal).catch(() => {});
    }
  }

  return {
    get: (podUid) => pods.get(podUid),
    list: () => pods.values(),
    refresh,
    refreshPart,
    onChange: (handler) => void handlers.push(handler),
    listedAt: () => listedAt,
    synced,
    run: async (signal) => {
      await Promise.all([relistForever(signal), followEvents(signal)]);
    },
  };
}

function isKnown(observed: ObservedPod | undefined, { sandboxId, containerId }: PodPart): boolean {
  if (!containerId) return observed?.sandboxes.some(({ id, ready }) => id === sandboxId && ready) ?? false;
  const container = observed?.containers.find(({ id }) => id === containerId);
  return container !== undefined && container.state.kind !== "created";
}
