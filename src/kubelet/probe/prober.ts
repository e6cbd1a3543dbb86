import type { Pod } from "../../api/objects.ts";
import type { ObservedPod } from "../observed-pod.ts";

/** Runs the probes of the containers on this node. */
export interface Prober {
  /** After each look at a pod: starts workers for containers that run now and ends those of containers that do not. */
  observe(pod: Pod, observed: ObservedPod): void;
  /** The pod ends: liveness and startup probes stop, readiness goes on so that traffic leaves. */
  stopping(podUid: string): void;
  /** The pod is gone. */
  forget(podUid: string): void;
  /** What the probes say of a container that runs. */
  verdict(pod: Pod, containerId: string): ProbeVerdict;
  /** Called with a pod's uid whenever a verdict of its containers changes. */
  onChange(handler: (podUid: string) => void): void;
}

export interface ProbeVerdict {
  readonly started: boolean;
  readonly ready: boolean;
  /** Set when a startup or liveness probe wants the container killed. */
  readonly kill?: {
    readonly probe: "startup" | "liveness";
    /** The event's text: `Container c failed liveness probe, will be restarted`. */
    readonly message: string;
    readonly gracePeriodSeconds?: number;
  };
}
