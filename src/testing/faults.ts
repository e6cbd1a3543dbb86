import type { SimulationRule } from "../simulated/script/rules.ts";
import type { Duration } from "./duration.ts";
import type { ObjectRef } from "./test-client.ts";

/** Whom a fault is for: each pattern may have `*` and `?`; what is left out matches all. */
interface PodMatch {
  readonly namespace?: string;
  readonly pod?: string;
}
interface VolumeMatch extends PodMatch {
  /** By its name in the pod. */
  readonly volume?: string;
}
interface ContainerMatch extends PodMatch {
  readonly container?: string;
  /** As the pod names it. */
  readonly image?: string;
}
interface PullMatch extends PodMatch {
  readonly image?: string;
}
interface ProbeMatch extends ContainerMatch {
  /** All three unless told. */
  readonly probe?: "startup" | "liveness" | "readiness";
}

/** Bytes, or text like `64Ki`, `500Mi`, `2Gi`. */
export type Size = number | string;

interface SlowPull {
  readonly size: Size;
  /** In a second. */
  readonly rate: Size;
  readonly layers?: number;
}

interface StalledPull {
  /** Where nothing more comes; before the first byte unless told. */
  readonly at?: Size;
  /** Of the image; 10Mi unless told. */
  readonly size?: Size;
  /** For ever unless told. */
  readonly lasting?: Duration;
}

export interface FailingPull {
  readonly reason: "not-found" | "unauthorized" | "unavailable";
  /** Instead of the usual words. */
  readonly message?: string;
}

interface Crash {
  /** 1 unless told. */
  readonly exitCode?: number;
  /** After the container's start; at once unless told. */
  readonly after?: Duration;
  /** So many starts of each container end so, later ones stay up; all unless told. */
  readonly times?: number;
}

/** A fault that lasts until it is healed. What began before goes on as it began. */
export interface Fault extends Disposable {
  heal(): void;
}

/** Lasts until it is ended. */
export interface Outage extends AsyncDisposable {
  end(): Promise<void>;
}

/** Things that go wrong, on purpose. Times are by the cluster's clock. All but `apiOutage` and `nodeOutage` need simulated nodes. */
export interface Faults {
  /** Setting up volumes takes so long; `Infinity` is for ever. */
  slowVolume(match: VolumeMatch, delay: Duration): Fault;
  /** Volumes cannot be set up: FailedMount with this message. */
  failVolume(match: VolumeMatch, message: string): Fault;
  /** The network of pods takes so long. */
  slowNetwork(match: PodMatch, delay: Duration): Fault;
  /** Pods get no network: FailedCreatePodSandBox with this message. */
  failNetwork(match: PodMatch, message: string): Fault;
  /** Sandboxes of a runtime handler take so long. */
  slowHandler(handler: string, delay: Duration): Fault;
  failHandler(handler: string, message: string): Fault;

  slowPull(match: PullMatch, pull: SlowPull): Fault;
  /** No more bytes come: the kubelet gives up after its no-progress timeout and tries again. */
  stallPull(match: PullMatch, pull?: StalledPull): Fault;
  failPull(match: PullMatch, pull: FailingPull): Fault;

  /** Containers that start from now on end by themselves. */
  crash(match: ContainerMatch, crash?: Crash): Fault;
  /** Containers cannot be started, with this message. */
  failStart(match: ContainerMatch, message: string): Fault;
  /** Probes fail. Without a fault every probe succeeds: nobody listens at a simulated pod's address. */
  failProbe(match: ProbeMatch, message?: string): Fault;
  /** Anything else that simulated runtimes can do. */
  rule(rule: SimulationRule): Fault;

  /** A running container ends now. */
  exitContainer(
    pod: ObjectRef,
    exit: { readonly container: string; readonly exitCode: number },
  ): Promise<void>;
  /** A pod's sandbox dies now, with all of its containers. */
  killSandbox(pod: ObjectRef): Promise<void>;
  /** The machine of a node restarts now: none of its containers has survived it. */
  rebootNode(node: string): void;

  /** Nobody reaches the API. */
  apiOutage(): Promise<Outage>;
  /** The kubelet of a node is stopped; its containers go on. */
  nodeOutage(node: string): Promise<Outage>;
  /** The runtime of a node does not answer its kubelet. */
  runtimeOutage(node: string): Promise<Outage>;
}
