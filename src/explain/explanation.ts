import type { Event, Node, PersistentVolumeClaim, Pod } from "../api/meta/objects.ts";
import { eventTimeMs } from "../api/meta/time.ts";
import type { ContainerPull, LayerProgress } from "../lib/image/pull-progress.ts";

/** Input of an explanation: a pod and what is known about it. */
export interface PodFacts {
  readonly pod: Pod;
  /** Events of the pod, in any order. */
  readonly events: readonly Event[];
  /** Running pulls as reported by the node's kubelet. Empty if the kubelet does not report them. */
  readonly pulls: readonly KnownPull[];
  /** Startup budgets as reported by the kubelet. */
  readonly budgets: readonly KnownBudget[];
  /** Startup probes that the kubelet proposes. */
  readonly advice: readonly KnownAdvice[];
  /** Node that the pod is bound to. Undefined if it was not read. */
  readonly node?: Existing<Node>;
  /** Claims that the pod mounts. Undefined if they were not read. */
  readonly claims?: readonly KnownClaim[];
  /** Objects that do not exist and that containers need which have not been started. Undefined if none were read. */
  readonly missing?: readonly MissingObject[];
  /** Last log lines of crashing containers, as far as they can be read. */
  readonly logs?: readonly ContainerLog[];
  /** What the caller has no permission to read, in the plural: `events`. */
  readonly unreadable?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Object that was requested by name: it exists, or it does not. */
export type Existing<T> = { readonly kind: "found"; readonly object: T } | { readonly kind: "missing" };

/** Claim of a pod with what is known about it. */
export interface KnownClaim {
  readonly name: string;
  readonly claim: Existing<PersistentVolumeClaim>;
  /** Events of the claim, in any order. */
  readonly events: readonly Event[];
  /** Whether the claim's StorageClass exists. Undefined if it has none or if the class was not read. */
  readonly classExists?: boolean;
}

/** ConfigMap or Secret that does not exist. */
export interface MissingObject {
  readonly kind: "configmap" | "secret";
  readonly name: string;
  /** Names of the containers that refer to it. */
  readonly containers: readonly string[];
}

/** Last lines of a container's log, oldest first. */
export interface ContainerLog {
  readonly container: string;
  readonly lines: readonly string[];
}

/** Running pull of a container's image. A runtime that reports no progress has neither a total nor layers. */
export interface KnownPull extends Omit<ContainerPull, "layers"> {
  readonly layers?: readonly (Omit<LayerProgress, "digest"> & { readonly layer: string })[];
}

/** Startup probe failures of a container as counted by its kubelet. */
export interface KnownBudget {
  readonly container: string;
  readonly failures: number;
  readonly secondsLeft: number;
}

/** Startup probe that the kubelet proposes for a container, based on observed starts. */
export interface KnownAdvice {
  readonly container: string;
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly slowestSeconds: number;
  /** `3 starts took 50.0 s (median) to …` */
  readonly reason: string;
}

type Stage =
  | "scheduling"
  | "volumes"
  | "sandbox"
  | "init"
  | "pulling"
  | "creating"
  | "starting"
  | "readiness"
  | "ready"
  | "crashing"
  | "ended"
  | "terminating";

/** Startup stage of a pod, what it waits for, and how to fix it. */
export interface Explanation {
  readonly stage: Stage;
  /** Time at which the pod entered the stage, if known. */
  readonly since: string | undefined;
  /** One sentence. */
  readonly because: string;
  /** Whether the problem is transient: it may resolve without a change. */
  readonly isTransient: boolean;
  /** What has to happen for a transient problem to resolve: "when a node has enough resources". */
  readonly resolvesWhen?: string;
  /** Changes to make or commands to run, one in each line. */
  readonly fix: string | undefined;
  /** Last log lines of the containers that crash. */
  readonly logs?: readonly ContainerLog[];
}

/** One fix in each line, without duplicates. Undefined if there are none. */
export function joinFixes(fixes: readonly (string | undefined)[]): string | undefined {
  const lines = fixes.flatMap((fix) => fix?.split("\n") ?? []);
  return lines.length > 0 ? [...new Set(lines)].join("\n") : undefined;
}

/** Joins the explanations of several containers. The stage is that of the first one. */
export function joinExplanations(all: readonly [Explanation, ...Explanation[]]): Explanation {
  const [{ resolvesWhen, ...first }, ...others] = all;
  if (others.length === 0) return all[0];
  const isTransient = all.every((each) => each.isTransient);
  return {
    ...first,
    because: all.map(({ because }) => because).join(" "),
    isTransient,
    ...(isTransient && resolvesWhen && { resolvesWhen }),
    fix: joinFixes(all.map(({ fix }) => fix)),
    logs: all.flatMap(({ logs = [] }) => logs),
  };
}

/** Newest event with one of these reasons. */
export function lastEvent(
  { events }: Pick<PodFacts, "events">,
  ...reasons: readonly string[]
): Event | undefined {
  return events
    .filter(({ reason }) => reasons.includes(reason ?? ""))
    .toSorted((a, b) => eventTimeMs(b) - eventTimeMs(a))[0];
}

/** Events of one container, and events that name no container. */
export function eventsOf({ events }: Pick<PodFacts, "events">, container: string): readonly Event[] {
  return events.filter(
    ({ involvedObject: { fieldPath } }) => !fieldPath || fieldPath.endsWith(`{${container}}`),
  );
}

/** Kubelet's message about the probe that killed a container. Undefined if no probe did. */
export function probeKill(facts: PodFacts, container: string): string | undefined {
  const message = lastEvent({ events: eventsOf(facts, container) }, "Killing")?.message;
  return message && /failed (liveness|startup) probe/.exec(message)?.[0];
}

/** `1 restart`, `2 restarts` */
export function restarts(count: number): string {
  return `${count} ${count === 1 ? "restart" : "restarts"}`;
}

/** Formats a message as one sentence, without gRPC's prefix and with shortened ids. */
export function sentence(text: string): string {
  const plain = text
    .replaceAll(/rpc error: code = \w+ desc = /g, "")
    .replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1")
    .trim();
  return /[.!?…]$/.test(plain) ? plain : `${plain}.`;
}

/** A message as one sentence, followed by what its cause means unless the message says that already. */
export function withMeaning(text: string, meaning: string): string {
  const message = sentence(text);
  return meaning && !message.toLowerCase().includes(meaning.toLowerCase())
    ? `${message} ${meaning}.`
    : message;
}

/** Progress of a workload, and the pod that blocks it. */
export interface WorkloadExplanation {
  readonly replicas: number;
  readonly ready: number;
  /** Number of pods with the current template. */
  readonly updated: number;
  readonly strategy: string;
  /** Progress of a workload whose pods end, such as `1 of 3 succeeded`. Default: the counts of ready and updated pods. */
  readonly progress?: string;
  /** Whether nothing is left to wait for. Default: all pods are ready and have the current template. */
  readonly isOver?: boolean;
  /** One or several sentences. */
  readonly because: string;
  /** Whether the problem is transient: it may resolve without a change. */
  readonly isTransient: boolean;
  /** Changes of the workload, one in each line. Changes of the pod are in the pod's own explanation. */
  readonly fix: string | undefined;
  /** Name of the pod that blocks the workload. */
  readonly blockingPod: string | undefined;
}
