import { isIPv6 } from "node:net";
import type { Container, LifecycleHandler, Pod } from "../../api/meta/objects.ts";

/** State of one pod in the runtime. A restarted kubelet recovers everything from it. */
export interface ObservedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Sandboxes, newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Containers of all sandboxes and attempts, newest first. */
  readonly containers: readonly ObservedContainer[];
}

export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** IP addresses, the primary one first; empty for a pod on the host network. */
  readonly ips: readonly string[];
}

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  /** 0 for the first container, incremented by each restart. */
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly state: ContainerState;
  /** Image name in the pod's spec. */
  readonly image: string;
  readonly imageRef: string;
  /** Hash of the container's spec when it was created; the container is replaced when it changes. See hashContainer. */
  readonly specHash: string;
  /** Back-off between its exit and its restart; see `restartDelayMs`. */
  readonly restartDelayMs: number;
  /** Absolute path of the log file. */
  readonly logPath: string;
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    readonly supplementalGroups: readonly number[];
  };
  /** Settings for terminating the container when only the runtime knows its pod. */
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
      /** Termination message, read according to terminationMessagePolicy. */
      readonly message: string;
    }
  | { readonly kind: "unknown" };

/**
 * Keeps at most one address per IP family. The address with the family of the node's address comes first and is
 * primary.
 */
export function orderIps(ips: readonly string[], hostIp = ""): string[] {
  const primary = isIPv6(hostIp);
  const first = ips.find((ip) => isIPv6(ip) === primary);
  const second = ips.find((ip) => isIPv6(ip) !== primary);
  return [first, second].filter((ip) => ip !== undefined);
}

/** Runs the probes of all containers on this node. */
export interface Prober {
  /** Starts probes of containers that are running and stops those of containers that are not. */
  observe(pod: Pod, observed: ObservedPod): void;
  /**
   * Stops liveness and startup probes of a terminating pod. Readiness probes continue, so that it is removed from
   * endpoints.
   */
  stopping(podUid: string): void;
  /** Stops all probes of the pod. */
  forget(podUid: string): void;
  /** Combined probe results of a running container. */
  probeResult(pod: Pod, containerId: string): CombinedProbeResult;
  /**
   * Registers a handler that is called with the pod's UID when the combined results of one of its containers change.
   */
  onChange(handler: (podUid: string) => void): void;
}

export interface CombinedProbeResult {
  readonly started: boolean;
  readonly ready: boolean;
  /** Set when a startup or liveness probe has failed and the container must be killed. */
  readonly kill?: {
    readonly probe: "startup" | "liveness";
    /** Message of the Killing event: `Container c failed liveness probe, will be restarted`. */
    readonly message: string;
    readonly gracePeriodSeconds?: number;
  };
}
