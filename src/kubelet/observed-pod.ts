import type { Container, LifecycleHandler } from "../api/objects.ts";

/** What the runtime says of one pod: everything is rebuilt from this after a restart of the kubelet. */
export interface ObservedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Of every sandbox and attempt, newest first. */
  readonly containers: readonly ObservedContainer[];
}

export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** The primary address first; none on the host's network. */
  readonly ips: readonly string[];
}

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  /** 0 for the first, one more for each restart. */
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly state: ContainerState;
  /** As the pod names it. */
  readonly image: string;
  readonly imageRef: string;
  /** Of the container's part of the pod's spec when it was made; a change of it means a new container. */
  readonly specHash: string;
  /** How long its restart waits after its end; see crash-loop.ts. */
  readonly restartDelayMs: number;
  /** Where it writes its log, absolute. */
  readonly logPath: string;
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    readonly supplementalGroups: readonly number[];
  };
  /** How it is to be ended, for when only the runtime remembers its pod. */
  readonly graceSeconds?: number;
  readonly preStop?: LifecycleHandler;
  readonly ports?: Container["ports"];
}

export type ContainerState =
  | { readonly kind: "created" }
  | { readonly kind: "running"; readonly startedAtMs: number }
  | {
      readonly kind: "exited";
      readonly startedAtMs: number;
      readonly finishedAtMs: number;
      readonly exitCode: number;
      readonly reason: string;
      /** The termination message, read by its policy. */
      readonly message: string;
    }
  | { readonly kind: "unknown" };
