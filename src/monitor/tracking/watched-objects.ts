import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Event, PersistentVolumeClaim, Pod } from "../../api/meta/objects.ts";
import { isMirrorPod } from "../../api/pod/pod-state.ts";
import type { Client } from "../../client/api/client.ts";
import { createInformer, type Informer, type InformerOptions } from "../../client/informers/informer.ts";
import { type ConnectionState, reflect } from "../../client/informers/reflector.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createStringPool, type TrimOptions, trimPod } from "../measure/trim-pod.ts";

export interface WatchedObjects {
  /** Pods, indexed by the uid of their controller. */
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
}

interface WatchedObjectsDeps extends Pick<InformerOptions<"pods">, "client" | "clock" | "logger"> {
  readonly onPodsConnection: InformerOptions<"pods">["onConnection"];
}

/** Creates the informers of the monitor. They keep only what it reads, with shared strings, for thousands of pods. */
export function createWatchedObjects(
  { onPodsConnection, ...deps }: WatchedObjectsDeps,
  options: Omit<TrimOptions, "share">,
): WatchedObjects {
  const share = createStringPool();
  return {
    pods: createInformer({
      ...deps,
      resource: "pods",
      onConnection: onPodsConnection,
      trim: (pod) => trimPod(pod, { ...options, share }),
      indexes: {
        owner(pod) {
          const owner = controllerOf(pod);
          return owner ? [owner.uid] : [];
        },
      },
    }),
    claims: createInformer({
      ...deps,
      resource: "persistentvolumeclaims",
      trim: (claim) => trimClaim(claim, share),
    }),
  };
}

function trimClaim(
  { apiVersion, kind, metadata, spec }: PersistentVolumeClaim,
  share: (text: string) => string,
): PersistentVolumeClaim {
  const { namespace, name, uid, resourceVersion } = metadata;
  const { storageClassName } = spec ?? {};
  return {
    apiVersion,
    kind,
    metadata: { namespace: namespace && share(namespace), name, uid, resourceVersion },
    spec: { storageClassName: storageClassName && share(storageClassName) },
  };
}

interface WatchEventsDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Selects the events. */
  readonly fieldSelector: string;
  /** Called for each event. After a reconnect, events of the last hour are repeated. */
  onEvent(event: Event): void;
  onConnection?(state: ConnectionState): void;
}

/** Watches events without keeping them. */
export async function watchEvents(deps: WatchEventsDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, fieldSelector, onEvent, onConnection } = deps;
  await reflect<Event>(
    {
      list: (page) => client.list("events", { fieldSelector, ...page }),
      watch: (start) => client.watch("events", { fieldSelector, ...start }),
      cache: { put: onEvent, remove() {}, beginList: () => ({ add: onEvent, complete() {} }) },
      onListed() {},
      onConnection,
      clock,
      logger,
      resource: "events",
    },
    signal,
  );
}

/** Whether a pod is ready without the condition, because its kubelet is older than 1.29 or has the feature gate off. */
export function lacksSandboxCondition({ status }: Pod): boolean {
  let isReady = false;
  for (const { type, status: is } of status?.conditions ?? []) {
    if (type === "PodReadyToStartContainers") return false;
    if (type === "Ready" && is === "True") isReady = true;
  }
  return isReady;
}

/** Logs a warning for the first such pod only, because the others have the same cause. */
export function createMissingConditionNotice(logger: Logger): (pod: Pod) => void {
  let isLogged = false;
  return (pod) => {
    if (isLogged || !lacksSandboxCondition(pod) || isMirrorPod(pod)) return;
    isLogged = true;
    const { namespace, name } = pod.metadata;
    logger.warn(
      "pods become ready without the condition PodReadyToStartContainers, so the durations of their sandboxes and containers are unknown; upgrade their kubelets to 1.29 or later, or enable the feature gate PodReadyToStartContainersCondition",
      { namespace, pod: name, node: pod.spec?.nodeName },
    );
  };
}
