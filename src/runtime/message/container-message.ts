import { type Container, ContainerState, ContainerStatus } from "../../cri/generated/cri.ts";
import { toNanos } from "../../cri/nanos.ts";
import { stopSignalValue } from "../container/stop-signal.ts";
import type { ContainerRecord } from "../state/container-record.ts";

const stateValues = {
  making: ContainerState.CONTAINER_UNKNOWN,
  created: ContainerState.CONTAINER_CREATED,
  running: ContainerState.CONTAINER_RUNNING,
  exited: ContainerState.CONTAINER_EXITED,
} as const;

export function containerMessage(container: ContainerRecord): Container {
  const { id, sandboxId, config, imageId, imageRef, createdAt } = container;
  return {
    id,
    podSandboxId: sandboxId,
    metadata: config.metadata,
    image: config.image,
    imageRef,
    state: containerStateValue(container),
    createdAt: toNanos(createdAt),
    labels: config.labels,
    annotations: config.annotations,
    imageId,
  };
}

export function containerStatusMessage(container: ContainerRecord): ContainerStatus {
  const { id, config, imageId, imageRef, createdAt, state, user, logPath, stopSignal } = container;
  const { metadata, labels, annotations, mounts } = config;
  const resources = config.linux?.resources;
  return ContainerStatus.fromPartial({
    id,
    metadata,
    state: containerStateValue(container),
    createdAt: toNanos(createdAt),
    ...(state.kind === "running" && { startedAt: toNanos(state.startedAt) }),
    ...(state.kind === "exited" && {
      startedAt: toNanos(state.startedAt),
      finishedAt: toNanos(state.finishedAt),
      exitCode: state.exitCode,
      reason: state.reason,
      message: state.message,
    }),
    // As the user wrote it, where the kubelet says so: the image itself may be named by id.
    image: { ...config.image, image: config.image?.userSpecifiedImage || config.image?.image || "" },
    imageRef,
    imageId,
    labels,
    annotations,
    mounts,
    logPath,
    ...(resources && { resources: { linux: resources } }),
    user: {
      linux: {
        uid: BigInt(user.uid),
        gid: BigInt(user.gid),
        supplementalGroups: user.additionalGids.map(BigInt),
      },
    },
    stopSignal: stopSignalValue(stopSignal),
  });
}

export function containerStateValue({ state }: ContainerRecord): ContainerState {
  return stateValues[state.kind];
}
