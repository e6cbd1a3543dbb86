import type { Explanation } from "../explain/explanation.ts";
import type { Span } from "../explain/waterfall.ts";

/**
 * What the page is told, as server-sent events of JSON: one `snapshot`, then `change`s. A change holds only what
 * changed; whole lists in it (`nodes`, `slos`) replace those before.
 */
export type FeedMessage = ({ readonly kind: "snapshot" } & Feed) | ({ readonly kind: "change" } & FeedChange);

export interface Feed {
  /** The server's clock, in milliseconds: the page counts from it and not from its own. */
  readonly now: number;
  readonly cluster: { readonly server: string; readonly version: string };
  /** Pods that are starting, or ended up stuck on the way. */
  readonly starting: readonly PodView[];
  /** How many start in all; `starting` holds 5,000 of them at most. */
  readonly startingTotal?: number;
  /** The last starts that are over, newest first, 2,000 at most. */
  readonly finished: readonly FinishedView[];
  readonly statefulSets: readonly StatefulSetView[];
  readonly slos: readonly SloView[];
  readonly nodes: readonly NodeView[];
  /** The newest first, 200 at most. */
  readonly events: readonly EventView[];
}

export interface FeedChange extends Partial<Omit<Feed, "now" | "cluster">> {
  readonly now: number;
  /** Uids of pods that start no more. `starting`, `finished`, `statefulSets` and `events` are added or replaced by id. */
  readonly gone?: readonly string[];
  /** Keys (`namespace/name`) of StatefulSets that were deleted. */
  readonly goneStatefulSets?: readonly string[];
}

export interface PodView extends Explanation {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly owner: string;
  readonly createdMs: number;
  readonly spans: readonly Span[];
  readonly pulls: readonly PullView[];
  readonly probes: readonly ProbeView[];
}

export interface PullView {
  readonly container: string;
  readonly image: string;
  readonly startedAt: string;
  readonly offset: number;
  /** 0 as long as it is not known. */
  readonly total: number;
  readonly layers: readonly {
    readonly layer: string;
    readonly offset: number;
    readonly total: number;
    readonly stage: string;
  }[];
}

/** A startup probe's failures against those that the container may have. */
export interface ProbeView {
  readonly container: string;
  readonly failures: number;
  readonly threshold: number;
  readonly periodSeconds: number;
}

export interface FinishedView {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
  /** `Kind/name` of its controller. */
  readonly owner: string;
  readonly revision: string;
  readonly runtimeClass: string;
  readonly storageClasses: readonly string[];
  readonly createdMs: number;
  readonly readyMs: number;
  /** How long each stage took, as far as it is known, in seconds, by the names in start-signal.ts. */
  readonly stages: Readonly<Record<string, number>>;
  readonly userError: string | undefined;
}

export interface StatefulSetView {
  readonly namespace: string;
  readonly name: string;
  readonly strategy: string;
  readonly replicas: number;
  readonly updateRevision: string;
  readonly ordinals: readonly {
    readonly ordinal: number;
    readonly revision: string;
    readonly health: "ready" | "starting" | "failing" | "terminating" | "missing";
  }[];
  /** One sentence: what a rollout waits for; undefined when it is done or goes on. */
  readonly holdUp: string | undefined;
}

export interface SloView {
  readonly name: string;
  readonly kind: "latency" | "success";
  /** As the operator wrote it, in words. */
  readonly objective: string;
  readonly target: number;
  /** 1 is all of it, 0 and less is none. */
  readonly budgetLeft: number;
  readonly burnRate: number;
  readonly good: number;
  readonly total: number;
  /** Where the breaches are, worst first. */
  readonly breaches: readonly { readonly class: string; readonly bad: number; readonly total: number }[];
}

export interface NodeView {
  readonly name: string;
  readonly ready: boolean;
  readonly pods: number;
  readonly starting: number;
  readonly runtime: string;
  readonly kubelet: string;
}

export interface EventView {
  readonly uid: string;
  readonly time: string;
  readonly type: string;
  readonly reason: string;
  readonly object: string;
  readonly message: string;
  readonly count: number;
}
