import { isIP } from "node:net";
import { withoutRandomIds } from "../../cri/error-text.ts";
import {
  type ContainerStatus,
  ContainerState as CriState,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../cri/generated/cri.ts";
import { podLabels, readContainerAnnotations } from "../model/cri-labels.ts";
import type {
  ContainerState,
  ObservedContainer,
  ObservedPod,
  ObservedSandbox,
} from "../model/observed-pod.ts";

export interface PodStatuses {
  readonly sandboxes: readonly PodSandboxStatus[];
  /** The sandbox id comes from the listing: CRI's ContainerStatus does not have it. */
  readonly containers: readonly { readonly sandboxId: string; readonly status: ContainerStatus }[];
  /** Termination messages of exited containers, by id; see readTerminationMessage. */
  readonly messages?: ReadonlyMap<string, string>;
}

/** Converts CRI statuses of one pod. Undefined if there are none. */
export function observePod({
  sandboxes,
  containers,
  messages = new Map(),
}: PodStatuses): ObservedPod | undefined {
  const labels = (sandboxes[0] ?? containers[0]?.status)?.labels;
  if (!labels) return undefined;
  return {
    uid: labels[podLabels.uid] ?? "",
    namespace: labels[podLabels.namespace] ?? "",
    name: labels[podLabels.name] ?? "",
    sandboxes: sandboxes.map(observeSandbox).sort(newestSandboxFirst),
    containers: containers
      .map(({ sandboxId, status }) => observeContainer(sandboxId, status, messages.get(status.id)))
      .sort(newestContainerFirst),
  };
}

/** Replaces parts of a known pod with newer observations. */
export function updateObserved(known: ObservedPod | undefined, newer: ObservedPod): ObservedPod {
  if (!known) return newer;
  return {
    ...known,
    sandboxes: replaceById(known.sandboxes, newer.sandboxes).sort(newestSandboxFirst),
    containers: replaceById(known.containers, newer.containers).sort(newestContainerFirst),
  };
}

function replaceById<T extends { readonly id: string }>(known: readonly T[], newer: readonly T[]): T[] {
  return [...newer, ...known.filter(({ id }) => newer.every((one) => one.id !== id))];
}

function observeSandbox(status: PodSandboxStatus): ObservedSandbox {
  return {
    id: status.id,
    attempt: status.metadata?.attempt ?? 0,
    ready: status.state === PodSandboxState.SANDBOX_READY,
    createdAtMs: toMs(status.createdAt),
    ips: sandboxIps(status),
  };
}

function sandboxIps({ network }: PodSandboxStatus): string[] {
  const ips = [network?.ip ?? "", ...(network?.additionalIps ?? []).map(({ ip }) => ip)].filter(Boolean);
  // As upstream, one malformed address invalidates all of them.
  return ips.every((ip) => isIP(ip) > 0) ? ips : [];
}

function observeContainer(
  sandboxId: string,
  status: ContainerStatus,
  message: string | undefined,
): ObservedContainer {
  const { attempt, specHash, restartDelayMs, graceSeconds, preStop, ports } = readContainerAnnotations(
    status.annotations,
  );
  const user = status.user?.linux;
  return {
    id: status.id,
    name: status.labels[podLabels.container] ?? status.metadata?.name ?? "",
    sandboxId,
    attempt: attempt ?? status.metadata?.attempt ?? 0,
    createdAtMs: toMs(status.createdAt),
    state: observeState(status, message),
    image: status.image?.image ?? "",
    imageRef: status.imageRef,
    specHash,
    restartDelayMs,
    logPath: status.logPath,
    graceSeconds,
    preStop,
    ports,
    ...(user && {
      user: {
        uid: Number(user.uid),
        gid: Number(user.gid),
        supplementalGroups: user.supplementalGroups.map(Number),
      },
    }),
  };
}

function observeState(status: ContainerStatus, message = ""): ContainerState {
  switch (status.state) {
    case CriState.CONTAINER_CREATED:
      return { kind: "created" };
    case CriState.CONTAINER_RUNNING:
      return { kind: "running", startedAtMs: toMs(status.startedAt) };
    case CriState.CONTAINER_EXITED:
      return {
        kind: "exited",
        startedAtMs: toMs(status.startedAt),
        finishedAtMs: toMs(status.finishedAt),
        exitCode: status.exitCode,
        reason: status.reason,
        message: [withoutRandomIds(status.message), message].filter(Boolean).join(": "),
      };
    default:
      return { kind: "unknown" };
  }
}

/** Converts the runtime's nanoseconds to milliseconds. */
function toMs(nanos: bigint): number {
  return Number(nanos / 1_000_000n);
}

function newestSandboxFirst(a: ObservedSandbox, b: ObservedSandbox): number {
  return b.attempt - a.attempt || b.createdAtMs - a.createdAtMs || compareIds(a, b);
}

function newestContainerFirst(a: ObservedContainer, b: ObservedContainer): number {
  return b.createdAtMs - a.createdAtMs || b.attempt - a.attempt || compareIds(a, b);
}

function compareIds(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}
