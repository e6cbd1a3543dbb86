import type { Explanation } from "../../explain/explanation.ts";
import type { Span } from "../../explain/waterfall.ts";
import type { ContainerPull, LayerProgress } from "../../lib/image/pull-progress.ts";

/**
 * Message of the dashboard feed, sent as server-sent events of JSON: one `snapshot`, then `change`s. A change contains
 * only what changed; the lists `nodes` and `slos` are replaced as a whole.
 */
export type FeedMessage = ({ readonly kind: "snapshot" } & Feed) | ({ readonly kind: "change" } & FeedChange);

export interface Feed {
  /** Time of the server in milliseconds, from which the page computes durations. */
  readonly now: number;
  readonly cluster: { readonly server: string; readonly version: string };
  /** Pods that are starting, including stuck ones. */
  readonly starting: readonly PodView[];
  /** Number of starting pods; `starting` contains at most 5,000 of them. */
  readonly startingTotal?: number;
  /** The last 2,000 finished starts, newest first. */
  readonly finished: readonly FinishedView[];
  readonly statefulSets: readonly StatefulSetView[];
  readonly slos: readonly SloView[];
  readonly nodes: readonly NodeView[];
  /** The last 200 events, newest first. */
  readonly events: readonly EventView[];
}

export interface FeedChange extends Partial<Omit<Feed, "now" | "cluster">> {
  readonly now: number;
  /** Uids of pods that are no longer starting. Entries of the other lists are added or replaced by id. */
  readonly gone?: readonly string[];
  /** Keys (`namespace/name`) of deleted StatefulSets. */
  readonly goneStatefulSets?: readonly string[];
}

export interface PodView extends Explanation {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly owner: string;
  /** Beginning of the current start: creation of the pod, removal of its last scheduling gate, or loss of its sandbox. */
  readonly createdMs: number;
  readonly spans: readonly Span[];
  readonly pulls: readonly PullView[];
  readonly probes: readonly ProbeView[];
}

/** Progress of an image pull. The feed names a layer's digest `layer`. */
export interface PullView extends Omit<ContainerPull, "layers"> {
  readonly layers: readonly (Omit<LayerProgress, "digest"> & { readonly layer: string })[];
}

/** Failures of a startup probe and its failure threshold. */
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
  /** Beginning of the start: creation of the pod, or removal of its last scheduling gate. */
  readonly createdMs: number;
  readonly readyMs: number;
  /** Known durations of the stages in seconds, by the names in start-signal.ts. */
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
  /** Sentence that explains what blocks the rollout. Undefined if nothing does. */
  readonly blockedBy: string | undefined;
}

export interface SloView {
  readonly name: string;
  readonly kind: "latency" | "success";
  /** Description of the objective. */
  readonly objective: string;
  readonly target: number;
  /** Remaining share of the error budget: 1 is untouched, 0 or less is exhausted. */
  readonly budgetLeft: number;
  readonly burnRate: number;
  readonly good: number;
  readonly total: number;
  /** Classes with breaches, worst first. */
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
