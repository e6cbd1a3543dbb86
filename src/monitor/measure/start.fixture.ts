import type { ContainerStatus, Event, Pod } from "../../api/meta/objects.ts";
import { applyPod } from "./apply-pod.ts";
import { type PendingSignal, type TrackedStart, untracked } from "./tracked-start.ts";

/** Short form of a pod: conditions as `True 15:33:46` or `False 15:33:47`, all on one day. */
export interface PodSketch {
  readonly created?: string;
  readonly startTime?: string;
  readonly scheduled?: string;
  readonly sandbox?: string;
  readonly initialized?: string;
  readonly ready?: string;
  readonly phase?: string;
  /** Time of the deletion request; `graceSeconds` is its grace period. */
  readonly deleted?: string;
  readonly graceSeconds?: number;
  readonly init?: boolean;
  readonly containers?: readonly Partial<ContainerStatus>[];
  readonly metadata?: Partial<Pod["metadata"]>;
  readonly spec?: Partial<Pod["spec"]>;
  readonly conditions?: readonly object[];
  /** Time of the observation. */
  readonly seen?: string;
}

export const at = (time: string) => `2022-12-06T${time}Z`;
export const ms = (time: string) => Date.parse(at(time));

export function sketchPod(sketch: PodSketch): Pod {
  const { created = "15:33:45", containers = [{}], graceSeconds = 30, deleted } = sketch;
  const condition = (type: string, text: string | undefined) => {
    const [status, time = ""] = text?.split(" ") ?? [];
    return status ? [{ type, status, lastTransitionTime: at(time) }] : [];
  };
  const names = containers.map(({ name }, i) => name ?? `c${i}`);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "web-0",
      namespace: "shop",
      uid: "uid-1",
      resourceVersion: "1",
      creationTimestamp: at(created),
      ...(deleted && {
        deletionTimestamp: new Date(ms(deleted) + graceSeconds * 1_000).toISOString(),
        deletionGracePeriodSeconds: graceSeconds,
      }),
      ...sketch.metadata,
    },
    spec: {
      nodeName: "node-1",
      containers: names.map((name) => ({ name })),
      ...(sketch.init && { initContainers: [{ name: "prepare" }] }),
      ...sketch.spec,
    },
    status: {
      phase: sketch.phase ?? "Pending",
      ...(sketch.startTime && { startTime: at(sketch.startTime) }),
      conditions: [
        ...condition("PodScheduled", sketch.scheduled),
        ...condition("PodReadyToStartContainers", sketch.sandbox),
        ...condition("Initialized", sketch.initialized),
        ...condition("Ready", sketch.ready),
        ...(sketch.conditions ?? []),
      ],
      containerStatuses: containers.map((status, i) => ({
        name: names[i],
        ready: false,
        restartCount: 0,
        image: "app:1",
        imageID: "",
        ...status,
      })),
    },
  } as Pod;
}

export const running = (time: string, restartCount = 0): Partial<ContainerStatus> => ({
  state: { running: { startedAt: at(time) } },
  restartCount,
});

/** Pod accepted by its kubelet, without a sandbox. */
export const notYet = {
  scheduled: "True 15:33:46",
  startTime: "15:33:47",
  sandbox: "False 15:33:47",
} satisfies PodSketch;

/** The same pod in state Ready. */
export const up = {
  ...notYet,
  sandbox: "True 15:33:49",
  containers: [running("15:33:52")],
  ready: "True 15:33:57",
} satisfies PodSketch;

export function event(reason: string, message: string, more: Partial<Event> = {}): Event {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "web-0.1", namespace: "shop", uid: "event-1" },
    involvedObject: { kind: "Pod", namespace: "shop", name: "web-0", uid: "uid-1" },
    lastTimestamp: at("15:33:50"),
    reason,
    message,
    ...more,
  } as Event;
}

/** Formats a signal as one line. */
export function describeSignal(signal: PendingSignal): string {
  switch (signal.kind) {
    case "stage":
      return `${signal.stage} ${signal.seconds} s`;
    case "sandbox":
      return `${signal.first ? "first sandbox" : "sandbox again"} ${signal.seconds} s`;
    case "pull":
      return `pull ${signal.image} ${signal.seconds} s ${signal.bytes ?? "?"} bytes`;
    case "ready":
    case "terminated":
      return `${signal.kind} ${signal.seconds} s`;
    case "restart":
    case "crash-loop":
      return `${signal.kind} of ${signal.container}`;
    case "stuck":
    case "abandoned":
      return `${signal.kind} in ${signal.stage}`;
    case "user-error":
      return `user error ${signal.reason}`;
    case "unknown":
      return `unknown ${signal.what}`;
  }
}

interface ApplyOptions {
  readonly from?: TrackedStart;
  readonly sinceMs?: number;
}

/** Observed states of a pod in order; `gap` is a period without observation. */
export type PodVersions = readonly (PodSketch | "gap")[];

export function applyAll(
  versions: PodVersions,
  { from, sinceMs = 0 }: ApplyOptions = {},
): { state: TrackedStart; signals: string[] } {
  let state = from;
  let unbroken = true;
  const signals: string[] = [];
  for (const version of versions) {
    if (version === "gap") {
      unbroken = false;
      continue;
    }
    const step = applyPod(state, {
      pod: sketchPod(version),
      unbroken,
      nowMs: ms(version.seen ?? "16:00:00"),
      sinceMs,
    });
    state = step.next;
    signals.push(...step.signals.map(describeSignal));
    unbroken = true;
  }
  return { state: state ?? untracked, signals };
}
