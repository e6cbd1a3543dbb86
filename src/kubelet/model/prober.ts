import type { Pod } from "../../api/meta/objects.ts";
import type { ObservedPod } from "./observed-pod.ts";

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
