import type { OwnerReference, PersistentVolumeClaim, Pod, StatefulSet } from "../../api/meta/objects.ts";
import type { Revision } from "./pod-identity.ts";

/** Input of the decisions about a StatefulSet. */
export interface StatefulSetFacts {
  readonly set: StatefulSet;
  /** Pods that the set controls. */
  readonly pods: readonly Pod[];
  /** Revision of pods below the partition. */
  readonly current: Revision;
  /** Revision of the set's template. */
  readonly update: Revision;
  readonly collisionCount: number;
  /** Returns a claim of the set's namespace. */
  claim(name: string): PersistentVolumeClaim | undefined;
  readonly now: number;
}

export type PodAction =
  | { readonly kind: "createClaim"; readonly pod: Pod; readonly claim: PersistentVolumeClaim }
  | {
      readonly kind: "ownClaim";
      readonly pod: Pod;
      readonly claim: PersistentVolumeClaim;
      readonly owners: OwnerReference[];
    }
  | { readonly kind: "createPod"; readonly pod: Pod }
  | { readonly kind: "correctPod"; readonly pod: Pod }
  | { readonly kind: "deletePod"; readonly pod: Pod; readonly why: "ended" | "scaledDown" | "updated" }
  /** The action is impossible for now and is retried. */
  | { readonly kind: "fail"; readonly verb: "create" | "update"; readonly pod: Pod; readonly message: string }
  | { readonly kind: "warn"; readonly reason: string; readonly message: string };

/** Actions for one pod, in order. */
export type PodActions = readonly PodAction[];

/**
 * ProgressRecord is the last progress of an unfinished rollout, from which its deadline is counted. It is stored on the
 * set, so that a restarted controller does not begin to count again.
 *
 *     change of the spec, or a complete set becomes incomplete:  time := now
 *     more pods than ever in this rollout are deleted, created, ready or available:  time := now
 */
export interface ProgressRecord {
  /** UID of the set. A record in a copied manifest belongs to another set and is ignored. */
  readonly uid: string;
  readonly generation: number;
  /** Largest value of `progressOf` in this rollout. A pod that is recreated over and over does not exceed it. */
  readonly best: readonly number[];
  readonly time: string;
}

export interface StatefulSetPlan {
  /** The set with its changed UpdateRecord, written before the phases. Undefined if unchanged. */
  readonly recorded?: StatefulSet;
  /** Phases in order; a failure ends the sequence. */
  readonly phases: readonly (readonly PodActions[])[];
  /** Whether the pods of a phase are handled in parallel, with slow start. */
  readonly burst: boolean;
  /** Status after all phases. */
  readonly status: NonNullable<StatefulSet["status"]>;
  /** Last progress of the rollout, written with the status. Undefined once the rollout is complete. */
  readonly progress?: ProgressRecord;
  /** Delay until a pod becomes available, the budget of a starting one ends, or the rollout exceeds its deadline. */
  readonly requeueAfterMs?: number;
}
