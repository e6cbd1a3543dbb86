import type { Container, Pod } from "../../api/objects.ts";
import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../observed-pod.ts";
import type { ProbeVerdict } from "../probe/prober.ts";
import type { StartProblem } from "../status/status-facts.ts";

/** All that decides what happens next to a pod that should run. */
export interface PodFacts {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly verdict: (containerId: string) => ProbeVerdict;
  /** Whether its postStart hook was begun, by a kubelet before this one, and has not ended. */
  readonly hookPending: (containerId: string) => boolean;
  /** Of the container's spec as it is now; see ObservedContainer.specHash. */
  readonly specHash: (container: Container) => string;
  /** The longest wait of a crash loop. */
  readonly maxRestartDelayMs: number;
  readonly now: number;
}

/** One step towards a pod that runs as it should. */
export type PodAction =
  | { readonly kind: "stopSandbox"; readonly sandbox: ObservedSandbox }
  | { readonly kind: "killContainer"; readonly observed: ObservedContainer; readonly why: KillReason }
  | { readonly kind: "createSandbox"; readonly attempt: number }
  | {
      readonly kind: "startContainer";
      readonly container: Container;
      readonly role: ContainerRole;
      readonly sandbox: ObservedSandbox;
      readonly attempt: number;
      /** How long a restart has to wait should this container end as soon as the last one did. */
      readonly nextRestartDelayMs: number;
      /** One that was made and never ran, and has to make room. */
      readonly replaces?: ObservedContainer;
    }
  | {
      /** It runs, and its hook has to be run again: hooks are delivered at least once. */
      readonly kind: "resumePostStart";
      readonly container: Container;
      readonly sandbox: ObservedSandbox;
      readonly observed: ObservedContainer;
    };

export type ContainerRole = "init" | "sidecar" | "main";

export interface KillReason {
  readonly message: string;
  readonly gracePeriodSeconds?: number;
}

export interface PodPlan {
  /** Nothing of the pod runs any more, or ought to: what is left of it is stopped for good. */
  readonly done: boolean;
  /** To be run in this order. What comes after them is decided by looking again. */
  readonly actions: readonly PodAction[];
  /** Containers that wait for their crash loop's back-off, by name. */
  readonly crashLoops: ReadonlyMap<string, StartProblem>;
  /** When to decide again if nothing happens before. */
  readonly decideAgainAt: number | undefined;
}
