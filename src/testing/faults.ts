import type { SimulationRule } from "../simulated/scripts/rules.ts";
import type { Duration, ObjectRef } from "./test-client.ts";

/** Pods that a fault applies to. Patterns may contain `*` and `?`; an omitted field matches everything. */
interface PodMatch {
  readonly namespace?: string;
  readonly pod?: string;
}
interface VolumeMatch extends PodMatch {
  /** Name of the volume in the pod. */
  readonly volume?: string;
}
interface ContainerMatch extends PodMatch {
  readonly container?: string;
  /** Image as written in the pod. */
  readonly image?: string;
}
interface PullMatch extends PodMatch {
  readonly image?: string;
}
interface ProbeMatch extends ContainerMatch {
  /** Defaults to all three. */
  readonly probe?: "startup" | "liveness" | "readiness";
}

/** Bytes, or text like `64Ki`, `500Mi`, `2Gi`. */
export type Size = number | string;

interface SlowPull {
  readonly size: Size;
  /** Bytes per second. */
  readonly rate: Size;
  readonly layers?: number;
}

interface StalledPull {
  /** Position at which the transfer stalls. Defaults to 0. */
  readonly at?: Size;
  /** Size of the image. Defaults to 10Mi. */
  readonly size?: Size;
  /** Duration of the stall. Defaults to forever. */
  readonly lasting?: Duration;
}

export interface FailingPull {
  readonly reason: "not-found" | "unauthorized" | "unavailable";
  /** Error message. Defaults to that of the reason. */
  readonly message?: string;
}

interface Crash {
  /** Defaults to 1. */
  readonly exitCode?: number;
  /** Time after the container's start. Defaults to 0. */
  readonly after?: Duration;
  /** Number of starts of each container that crash; later ones keep running. Defaults to all. */
  readonly times?: number;
}

/** Fault that lasts until it is ended. Operations that began earlier are not affected. */
export interface Fault extends Disposable {
  end(): void;
}

/** Outage that lasts until it is ended. */
export interface Outage extends AsyncDisposable {
  end(): Promise<void>;
}

/** Fault injection. Times are of the cluster's clock. All except `apiOutage` and `nodeOutage` require simulated nodes. */
export interface Faults {
  /** Delays the setup of volumes; `Infinity` means forever. */
  slowVolume(match: VolumeMatch, delay: Duration): Fault;
  /** Fails the setup of volumes: FailedMount with this message. */
  failVolume(match: VolumeMatch, message: string): Fault;
  /** Delays the network setup of pods. */
  slowNetwork(match: PodMatch, delay: Duration): Fault;
  /** Fails the network setup of pods: FailedCreatePodSandBox with this message. */
  failNetwork(match: PodMatch, message: string): Fault;
  /** Delays the sandboxes of a runtime handler. */
  slowHandler(handler: string, delay: Duration): Fault;
  failHandler(handler: string, message: string): Fault;

  slowPull(match: PullMatch, pull: SlowPull): Fault;
  /** Stalls a pull: the kubelet aborts it after its no-progress timeout and retries. */
  stallPull(match: PullMatch, pull?: StalledPull): Fault;
  failPull(match: PullMatch, pull: FailingPull): Fault;

  /** Crashes containers that start from now on. */
  crash(match: ContainerMatch, crash?: Crash): Fault;
  /** Fails the start of containers with this message. */
  failStart(match: ContainerMatch, message: string): Fault;
  /** Fails probes. Without a fault every probe succeeds, because simulated pods have no processes. */
  failProbe(match: ProbeMatch, message?: string): Fault;
  /** Adds any rule of the simulated runtime. */
  rule(rule: SimulationRule): Fault;

  /** Stops a running container now. */
  exitContainer(
    pod: ObjectRef,
    exit: { readonly container: string; readonly exitCode: number },
  ): Promise<void>;
  /** Stops a pod's sandbox and all of its containers now. */
  killSandbox(pod: ObjectRef): Promise<void>;
  /** Reboots the machine of a node now, which stops all of its containers. */
  rebootNode(node: string): void;

  /** Makes the API unreachable. */
  apiOutage(): Promise<Outage>;
  /** Stops the kubelet of a node; its containers keep running. */
  nodeOutage(node: string): Promise<Outage>;
  /** Makes the runtime of a node unreachable for its kubelet. */
  runtimeOutage(node: string): Promise<Outage>;
}
