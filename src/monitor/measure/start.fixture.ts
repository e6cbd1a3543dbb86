import type { ContainerStatus, Event, Pod } from "../../api/objects.ts";
import { followPod } from "./follow-pod.ts";
import { type Told, type TrackedStart, untracked } from "./tracked-start.ts";

/** A pod by what its status says: conditions as `True 15:33:46` or `False 15:33:47`, on one day. */
export interface PodSketch {
  readonly created?: string;
  readonly startTime?: string;
  readonly scheduled?: string;
  readonly sandbox?: string;
  readonly initialized?: string;
  readonly ready?: string;
  readonly phase?: string;
  /** When its deletion was asked for, and the grace it was given. */
  readonly deleted?: string;
  readonly graceSeconds?: number;
  readonly init?: boolean;
  readonly containers?: readonly Partial<ContainerStatus>[];
  readonly metadata?: Partial<Pod["metadata"]>;
  readonly spec?: Partial<Pod["spec"]>;
  readonly conditions?: readonly object[];
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

/** A pod that its kubelet has taken up and that has no sandbox yet. */
export const notYet = {
  scheduled: "True 15:33:46",
  startTime: "15:33:47",
  sandbox: "False 15:33:47",
} satisfies PodSketch;

/** The same pod when it is ready. */
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

/** One line for each. */
export function say(told: Told): string {
  switch (told.kind) {
    case "stage":
      return `${told.stage} ${told.seconds} s`;
    case "sandbox":
      return `${told.first ? "first sandbox" : "sandbox again"} ${told.seconds} s`;
    case "pull":
      return `pull ${told.image} ${told.seconds} s ${told.bytes ?? "?"} bytes`;
    case "ready":
    case "terminated":
      return `${told.kind} ${told.seconds} s`;
    case "restart":
      return `restart of ${told.container}`;
    case "stuck":
    case "abandoned":
      return `${told.kind} in ${told.stage}`;
    case "user-error":
      return `user error ${told.reason}`;
    case "unknown":
      return `unknown ${told.what}`;
  }
}

interface FollowOptions {
  readonly from?: TrackedStart;
  readonly sinceMs?: number;
}

/** What is seen of a pod, one after the other; `gap` stands for a time in which nobody looked. */
export type PodVersions = readonly (PodSketch | "gap")[];

export function followAll(
  versions: PodVersions,
  { from, sinceMs = 0 }: FollowOptions = {},
): { state: TrackedStart; told: string[] } {
  let state = from;
  let unbroken = true;
  const told: string[] = [];
  for (const version of versions) {
    if (version === "gap") {
      unbroken = false;
      continue;
    }
    const step = followPod(state, { pod: sketchPod(version), unbroken, sinceMs });
    state = step.next;
    told.push(...step.told.map(say));
    unbroken = true;
  }
  return { state: state ?? untracked, told };
}
