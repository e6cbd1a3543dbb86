import type { Event, KubeObject, Pod } from "../../api/objects.ts";
import { eventTimeMs } from "../event-time.ts";

/** All that is known of a pod when somebody asks why it does not start. */
export interface PodFacts {
  readonly pod: Pod;
  /** About the pod, in any order. */
  readonly events: readonly Event[];
  /** What the node's kubelet says of pulls for the pod; empty where the kubelet cannot say. */
  readonly pulls: readonly PullFacts[];
  /** What it says of startup probes, and what it would have them be. */
  readonly budgets: readonly KnownBudget[];
  readonly advice: readonly KnownAdvice[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface PullFacts {
  readonly image: string;
  readonly container: string;
  readonly startedAt: string;
  readonly offset: number;
  /** 0 as long as it is not known. */
  readonly total: number;
}

/** How many failures a container has had, as its kubelet counts them. */
export interface KnownBudget {
  readonly container: string;
  readonly failures: number;
  readonly secondsLeft: number;
}

/** What the kubelet's startup advisor proposes for a container, from the starts that it has seen. */
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

/** Where a pod is on its way, what it waits for there, and what would help. */
export interface Explanation {
  readonly stage: Stage;
  /** When it came to this stage, where that is known. */
  readonly since: string | undefined;
  /** One sentence. */
  readonly because: string;
  readonly healsByItself: boolean;
  /** What would have to happen for that, where it does: "when a node has room". */
  readonly healsWhen?: string;
  /** What to change, or a command to run. */
  readonly fix: string | undefined;
}

/** The name in commands: `-n NAMESPACE` only where it is needed. */
export function inCommands({ metadata }: Pick<KubeObject, "metadata">): string {
  return `${metadata.name ?? ""}${namespaceFlag({ metadata })}`;
}

export function namespaceFlag({ metadata }: Pick<KubeObject, "metadata">): string {
  const { namespace = "default" } = metadata;
  return namespace === "default" ? "" : ` -n ${namespace}`;
}

/** The newest event of one of these reasons. */
export function lastEvent(
  { events }: Pick<PodFacts, "events">,
  ...reasons: readonly string[]
): Event | undefined {
  return events
    .filter(({ reason }) => reasons.includes(reason ?? ""))
    .toSorted((a, b) => eventTimeMs(b) - eventTimeMs(a))[0];
}

/** What the pod's events say of one of its containers; of any, where a cluster's events do not name it. */
export function eventsOf({ events }: Pick<PodFacts, "events">, container: string): readonly Event[] {
  return events.filter(
    ({ involvedObject: { fieldPath } }) => !fieldPath || fieldPath.endsWith(`{${container}}`),
  );
}

/** The probe that had a container ended, in the kubelet's words; undefined where it ended for another reason. */
export function probeKill(facts: PodFacts, container: string): string | undefined {
  const message = lastEvent({ events: eventsOf(facts, container) }, "Killing")?.message;
  return message && /failed (liveness|startup) probe/.exec(message)?.[0];
}

/** `1 restart`, `2 restarts` */
export function restarts(count: number): string {
  return `${count} ${count === 1 ? "restart" : "restarts"}`;
}

/** One sentence, without what gRPC puts in front of what a runtime says, and with ids as short as people use them. */
export function sentence(text: string): string {
  const plain = text
    .replaceAll(/rpc error: code = \w+ desc = /g, "")
    .replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1")
    .trim();
  return /[.!?…]$/.test(plain) ? plain : `${plain}.`;
}
