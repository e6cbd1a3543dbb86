import { join } from "node:path";
import { toNanos } from "../../cri/field-values.ts";
import {
  type Container,
  type ContainerEventResponse,
  type ContainerEventType,
  ContainerState,
  ContainerStatus,
  type PodSandbox,
  PodSandboxState,
  PodSandboxStatus,
} from "../../cri/generated/cri.ts";
import type { SimulatedCore } from "./core.ts";
import type { ContainerRecord, SandboxRecord } from "./state.ts";

const containerStates = {
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;

export function sandboxStateValue({ state }: SandboxRecord): PodSandboxState {
  return state === "ready" ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

export function containerStateValue({ state }: ContainerRecord): ContainerState {
  return containerStates[state.kind];
}

export function sandboxMessage(sandbox: SandboxRecord): PodSandbox {
  const { id, metadata, labels, annotations, createdAt } = sandbox;
  return {
    id,
    metadata,
    state: sandboxStateValue(sandbox),
    createdAt: toNanos(createdAt),
    labels,
    annotations,
    runtimeHandler: sandbox.handler,
  };
}

export function sandboxStatusMessage(sandbox: SandboxRecord): PodSandboxStatus {
  return PodSandboxStatus.fromPartial({
    ...sandboxMessage(sandbox),
    network: { ip: sandbox.state === "ready" ? sandbox.address : "" },
    linux: { namespaces: { options: sandbox.namespaces ?? {} } },
  });
}

export function containerMessage(container: ContainerRecord): Container {
  const { id, metadata, image, imageRef, imageId, labels, annotations } = container;
  return {
    id,
    podSandboxId: container.sandbox.id,
    metadata,
    image,
    imageRef,
    imageId,
    state: containerStateValue(container),
    createdAt: toNanos(container.createdAt),
    labels,
    annotations,
  };
}

export function containerStatusMessage(container: ContainerRecord): ContainerStatus {
  const { id, metadata, image, imageRef, imageId, labels, annotations, mounts, state } = container;
  return ContainerStatus.fromPartial({
    id,
    metadata,
    state: containerStateValue(container),
    createdAt: toNanos(container.createdAt),
    ...(state.kind !== "created" && { startedAt: toNanos(state.startedAt) }),
    ...(state.kind === "exited" && {
      finishedAt: toNanos(state.finishedAt),
      exitCode: state.exitCode,
      reason: state.reason,
      message: state.message,
    }),
    // As specified by the user, if the kubelet provides it: the image itself may be an id.
    image: { ...image, image: image.userSpecifiedImage || image.image },
    imageRef,
    imageId,
    labels,
    annotations,
    mounts,
    logPath: logPathOf(container),
    ...(container.resources && { resources: { linux: container.resources } }),
    user: { linux: { uid: 0n, gid: 0n, supplementalGroups: [] } },
    stopSignal: container.stopSignal,
  });
}

/** Absolute path of the log; empty without a log. */
export function logPathOf({ sandbox, logPath }: ContainerRecord): string {
  return sandbox.logDirectory && logPath ? join(sandbox.logDirectory, logPath) : "";
}

/** Container event with the status of the whole pod. Sandboxes count as containers. */
function eventMessage(
  { sandbox, containerId, type }: { sandbox: SandboxRecord; containerId: string; type: ContainerEventType },
  now: number,
): ContainerEventResponse {
  return {
    containerId,
    containerEventType: type,
    createdAt: toNanos(now),
    podSandboxStatus: sandboxStatusMessage(sandbox),
    containersStatuses: sandbox.containers.map(containerStatusMessage),
  };
}

export function publishSandboxEvent(
  core: SimulatedCore,
  sandbox: SandboxRecord,
  type: ContainerEventType,
): void {
  if (core.events.hasSubscribers())
    core.events.publish(eventMessage({ sandbox, containerId: sandbox.id, type }, core.clock.now()));
}

export function publishContainerEvent(
  core: SimulatedCore,
  { sandbox, id }: ContainerRecord,
  type: ContainerEventType,
): void {
  if (core.events.hasSubscribers())
    core.events.publish(eventMessage({ sandbox, containerId: id, type }, core.clock.now()));
}
