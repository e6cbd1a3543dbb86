import type { OwnerReference, PersistentVolumeClaim, Pod, StatefulSet } from "../../api/objects.ts";
import type { Revision } from "./pod-identity.ts";

/** Everything that a decision about a StatefulSet rests on. */
export interface StatefulSetFacts {
  readonly set: StatefulSet;
  /** Those that it is in charge of. */
  readonly pods: readonly Pod[];
  /** What pods below the partition have. */
  readonly current: Revision;
  /** What the set asks for. */
  readonly update: Revision;
  readonly collisionCount: number;
  /** In the set's namespace. */
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
  /** Something keeps it from being done: it is tried again later. */
  | { readonly kind: "fail"; readonly verb: "create" | "update"; readonly pod: Pod; readonly message: string }
  | { readonly kind: "warn"; readonly reason: string; readonly message: string };

/** What is done for one pod, one after the other. */
export type PodActions = readonly PodAction[];

export interface StatefulSetPlan {
  /** One phase after the other; a failure ends it. */
  readonly phases: readonly (readonly PodActions[])[];
  /** The pods of a phase side by side, more and more of them; otherwise one after the other. */
  readonly burst: boolean;
  /** Once all phases are done. */
  readonly status: NonNullable<StatefulSet["status"]>;
  /** When a pod is available by itself. */
  readonly againAfterMs?: number;
}
