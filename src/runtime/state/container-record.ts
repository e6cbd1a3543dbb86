import { constants } from "node:os";
import { toNanos } from "../../cri/field-values.ts";
import {
  type Container,
  ContainerConfig,
  ContainerState,
  ContainerStatus,
  Signal,
} from "../../cri/generated/cri.ts";

/**
 * Record of a container.
 * ```
 * making ──► created ──► running ──► exited ──► (removed)
 *    └── failed, or the daemon ended: undone and removed
 * ```
 */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** Reference by digest if the image has one; pods show it as imageID. */
  readonly imageRef: string;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  /** Stop signal, chosen from the request and the image. */
  readonly stopSignal: string;
  /** Path of the log file; empty for no log. */
  readonly logPath: string;
  readonly createdAt: number;
  readonly state: ContainerRecordState;
}

export type ContainerRecordState =
  | { readonly kind: "making" }
  | { readonly kind: "created" }
  | { readonly kind: "running"; readonly startedAt: number }
  | ExitedRecordState;

export interface ExitedRecordState {
  readonly kind: "exited";
  readonly exitCode: number;
  /** Start time; 0 if the container never ran. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly reason: string;
  readonly message: string;
}

export function encodeContainer(record: ContainerRecord): unknown {
  return { ...record, config: ContainerConfig.toJSON(record.config) };
}

export function decodeContainer(value: unknown): ContainerRecord {
  const record = value as ContainerRecord;
  if (!record.id || !record.sandboxId || !record.state.kind) throw new Error("not a container record");
  return { ...record, config: ContainerConfig.fromJSON(record.config) };
}

/** Unique name of a container: name, sandbox and attempt. */
export function containerName(sandboxId: string, { metadata }: ContainerConfig): string {
  return [metadata?.name, sandboxId, metadata?.attempt].join("_");
}

/** Chooses the stop signal: the request's, else the image's, else SIGTERM. */
export function stopSignalOf(requested: Signal, imageSignal: string | undefined): string {
  if (requested !== Signal.SIGNAL_RUNTIME_DEFAULT) return criSignalName(requested);
  return imageSignalName(imageSignal ?? "") ?? "SIGTERM";
}

function criSignalName(signal: Signal): string {
  const [name = ""] = Object.entries(Signal).find(([, value]) => value === signal) ?? [];
  // SIGNAL_SIGRTMINPLUS3 is SIGRTMIN+3.
  return name.replace("SIGNAL_", "").replace("PLUS", "+").replace("MINUS", "-");
}

/** Parses a signal of an image: `SIGQUIT`, `QUIT`, `3` or `SIGRTMIN+3`. Invalid values are ignored. */
function imageSignalName(text: string): string | undefined {
  const upper = text.toUpperCase();
  if (/^\d+$/.test(upper)) {
    return Object.entries(constants.signals).find(([, number]) => number === Number(upper))?.[0];
  }
  const name = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  return name in constants.signals || /^SIGRTM(IN\+|AX-)\d+$/.test(name) ? name : undefined;
}

/** CRI value of a stop signal for a container's status. */
export function stopSignalValue(name: string): Signal {
  const key = `SIGNAL_${name.replace("+", "PLUS").replace("-", "MINUS")}`;
  return Object.entries(Signal).find(([known]) => known === key)?.[1] ?? Signal.SIGNAL_RUNTIME_DEFAULT;
}

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
    // The image as the user specified it, where the kubelet passes it; `image` may be an ID.
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
