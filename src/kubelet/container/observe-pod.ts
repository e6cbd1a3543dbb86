import { isIP } from "node:net";
import {
  type ContainerStatus,
  ContainerState as CriState,
  PodSandboxState,
  type PodSandboxStatus,
} from "../../cri/generated/cri.ts";
import type { ContainerState, ObservedContainer, ObservedPod, ObservedSandbox } from "../observed-pod.ts";
import { podLabels, readContainerAnnotations } from "./cri-labels.ts";

export interface PodAnswers {
  readonly sandboxes: readonly PodSandboxStatus[];
  /** CRI's status does not say which sandbox a container is in; its list does. */
  readonly containers: readonly { readonly sandboxId: string; readonly status: ContainerStatus }[];
  /** Of containers that have ended, by id; see readTerminationMessage. */
  readonly messages?: ReadonlyMap<string, string>;
}

/** One pod as the runtime's answers describe it; undefined when they are empty. */
export function observePod({
  sandboxes,
  containers,
  messages = new Map(),
}: PodAnswers): ObservedPod | undefined {
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

/** A pod as it was known, with newer facts of some of its parts. */
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
  // As upstream: who reports one address that is none is not believed the others.
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
        message: [status.message, message].filter(Boolean).join(": "),
      };
    default:
      return { kind: "unknown" };
  }
}

/** The runtime's nanoseconds as the clock's milliseconds. */
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
