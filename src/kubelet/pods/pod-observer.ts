// Clauses: 3085-5, 3085-8
import { status } from "@grpc/grpc-js";
import type { CriClient } from "../../cri/cri-client.ts";
import { type ContainerEventResponse, ContainerEventType } from "../../cri/generated/cri.ts";
import { createChildAbort } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { inspectPod, isCurrent, listByPod, readStatuses } from "../containers/inspect-pod.ts";
import { updateObserved } from "../containers/observe-pod.ts";
import { podLabels } from "../model/cri-labels.ts";
import type { ObservedPod } from "../model/observed-pod.ts";
import type { SandboxOwnership } from "../ownership/open-ownership.ts";

/** Cache of the pods in the runtime. CRI events keep it up to date; a slow relist finds what they missed. */
export interface PodObserver {
  get(podUid: string): ObservedPod | undefined;
  list(): Iterable<ObservedPod>;
  /** Reads the pod from the runtime. The result is at least as new as this call. */
  refresh(podUid: string): Promise<ObservedPod | undefined>;
  /** Adds one sandbox, or one container in it, that has just been started. */
  refreshPart(podUid: string, part: PodPart): Promise<void>;
  /** Registers a handler that is called after each change of a pod. */
  onChange(handler: (podUid: string) => void): void;
  /** Time of the last complete listing; before the first one, the creation time of the observer. */
  listedAt(): number;
  /** Resolves when all pods in the runtime are known. */
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
  /** Sandboxes of other kubelets are ignored with their containers, so that they are neither stopped nor removed. */
  readonly isOwn: SandboxOwnership["isOwn"];
  /** Data directory of the kubelet, which has the termination messages. */
  readonly dataDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval without events (containerd before 1.7); equal to upstream's. */
const relistMs = 1_000;
const relistWithEventsMs = 30_000;
/** Time after which an open event stream counts as supported: a runtime without events fails sooner. */
const eventsProvenMs = 500;
const reconnectMs = 500;

export function createPodObserver(options: PodObserverOptions): PodObserver {
  const { cri, isOwn, clock, logger } = options;
  const pods = new Map<string, ObservedPod>();
  const handlers: ((podUid: string) => void)[] = [];
  /** Serializes reads of a pod, so that an older result never replaces a newer one. */
  const mutex = createKeyedMutex();
  /** Reads that have not begun; they serve all callers until then. */
  const waiting = new Map<string, Promise<ObservedPod | undefined>>();
  let markSynced = () => {};
  const synced = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  const relistNow = createWakeUp();
  let hasEvents = false;
  let listedAt = clock.now();

  async function inspect(podUid: string): Promise<ObservedPod | undefined> {
    const labelSelector = { [podLabels.uid]: podUid };
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: { id: "", state: undefined, labelSelector } }),
      cri.runtime.listContainers({ filter: { id: "", state: undefined, podSandboxId: "", labelSelector } }),
    ]);
    const listing = listByPod(sandboxes.items.filter(isOwn), containers.containers).get(podUid);
    return store(podUid, listing && (await inspectPod(options, listing)));
  }

  function store(podUid: string, observed: ObservedPod | undefined): ObservedPod | undefined {
    const before = pods.get(podUid);
    if (observed) pods.set(podUid, observed);
    else pods.delete(podUid);
    if (JSON.stringify(before) !== JSON.stringify(observed)) for (const handler of handlers) handler(podUid);
    return observed;
  }

  function refresh(podUid: string): Promise<ObservedPod | undefined> {
    const pending = waiting.get(podUid);
    if (pending) return pending;
    const reading = mutex.run(podUid, () => {
      waiting.delete(podUid);
      return inspect(podUid);
    });
    waiting.set(podUid, reading);
    return reading;
  }

  async function refreshPart(podUid: string, { sandboxId, containerId }: PodPart): Promise<void> {
    const parts = containerId
      ? { sandboxes: [], containers: [{ id: containerId, podSandboxId: sandboxId }] }
      : { sandboxes: [{ id: sandboxId }], containers: [] };
    await mutex.run(podUid, async () => {
      // The event may have arrived before the response of the call that created the part.
      if (isKnown(pods.get(podUid), { sandboxId, containerId })) return;
      const part = await inspectPod(options, parts);
      if (part) store(podUid, updateObserved(pods.get(podUid), part));
      else await inspect(podUid);
    });
  }

  /** Applies a CRI event, which has the state of one sandbox and all of its containers. */
  async function onEvent(event: ContainerEventResponse): Promise<void> {
    const sandbox = event.podSandboxStatus;
    const podUid = sandbox?.metadata?.uid;
    // Created parts are read by their creator; their event carries nothing new.
    if (!podUid || !isOwn(sandbox) || event.containerEventType === ContainerEventType.CONTAINER_CREATED_EVENT)
      return;
    if (event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT) {
      await refresh(podUid);
      return;
    }
    await mutex.run(podUid, async () => {
      const containers = event.containersStatuses.map((it) => ({ sandboxId: sandbox.id, status: it }));
      const changed = await readStatuses(options, { sandboxes: [sandbox], containers });
      if (changed?.uid === podUid) store(podUid, updateObserved(pods.get(podUid), changed));
    });
  }

  async function relist(signal: AbortSignal): Promise<void> {
    const [sandboxes, containers] = await Promise.all([
      cri.runtime.listPodSandbox({ filter: undefined }, { signal }),
      cri.runtime.listContainers({ filter: undefined }, { signal }),
    ]);
    const listings = listByPod(sandboxes.items.filter(isOwn), containers.containers);
    const changed = [...listings].filter(([uid, listing]) => !isCurrent(pods.get(uid), listing));
    const gone = [...pods.keys()].filter((uid) => !listings.has(uid));
    await Promise.all([...changed.map(([uid]) => refresh(uid)), ...gone.map((uid) => refresh(uid))]);
    listedAt = clock.now();
    markSynced();
  }

  async function relistForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = relistNow.next();
      try {
        await relist(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("failed to list the pods in the runtime, retrying", { error });
      }
      const nextAt = clock.now() + (hasEvents ? relistWithEventsMs : relistMs);
      await woken.orAt(nextAt, { clock, signal }).catch(() => {});
    }
  }

  /** Relists when the event stream opens or closes, because events were missed before. */
  function setHasEvents(value: boolean): void {
    if (hasEvents !== value) relistNow.wake();
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
          onEvent(event).catch((error) =>
            logger.debug("failed to read the state of a pod from the runtime", { error }),
          );
        }
      } catch (error) {
        if (signal.aborted) return;
        if (isGrpcError(error, status.UNIMPLEMENTED)) {
          logger.info("the runtime does not support container events; pods are listed every second");
          return;
        }
        logger.debug("the runtime's event stream ended, reconnecting", { error });
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
