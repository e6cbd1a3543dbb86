/** Network of pods: CNI plugins where they are configured, else the built-in bridge, else the host's network. */
export interface Network {
  readonly name: "cni" | "bridge" | "host";
  /** Missing features, in sentences, for the runtime's status. */
  readonly limitations: readonly string[];
  /** Returns why pods cannot get addresses, for the NetworkReady condition; undefined when they can. */
  problem(): Promise<string | undefined>;
  /** Gives the pod a network namespace with an address. Idempotent for one pod; a failure leaves nothing behind. */
  attach(pod: PodNetworkRequest): Promise<PodNetwork>;
  /** Rejects with what is broken (CNI CHECK). */
  check(podId: string): Promise<void>;
  /** Releases address, port mappings and namespace, whatever state they are in. Idempotent. */
  detach(podId: string): Promise<void>;
  /** Pods that hold an address or a namespace, read from disk, including those of a daemon that was killed. */
  list(): Promise<readonly string[]>;
  /** Creates what pods share and returns where this machine and the pods meet. Undefined if the network does not know. */
  prepare(): Promise<PodLinkFacts | undefined>;
  /** Called when the daemon stops: removes what no pod uses. Pods and what they need stay. */
  close(): Promise<void>;
}

/** Where this machine and its pods meet. */
export interface PodLinkFacts {
  /** Interface of this machine through which packets of all pods come. */
  readonly interface: string;
  /** Address of this machine that pods reach. */
  readonly gateway: string;
  /** Subnet of the pods, such as `10.88.0.0/16`. */
  readonly subnet: string;
}

export interface PodNetworkRequest {
  readonly podId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly portMappings: readonly PortMapping[];
  /** Annotations for plugins (bandwidth). */
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * Network namespace that the caller has pinned (pin-namespaces.ts) and will unpin. Undefined: attach pins one and
   * detach unpins it.
   */
  readonly namespacePath?: string;
}

export interface PortMapping {
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface PodNetwork {
  /** Path of the pinned network namespace, which exists without a process in it. `host` for the host's own. */
  readonly namespacePath: string | "host";
  readonly addresses: readonly string[];
}

/**
 * Code of a network error:
 * - `notAttached`: the pod has no network
 * - `broken`: what attach created has been changed
 * - `pluginFailed`, `pluginTimedOut`: a CNI plugin failed or did not respond
 * - `toolFailed`: a program of the machine (ip, unshare, iptables) failed
 * - `noAddress`: all addresses of the subnet are in use
 * - `invalid`: the request or the configuration cannot be satisfied
 */
export type NetworkErrorCode =
  | "notAttached"
  | "broken"
  | "pluginFailed"
  | "pluginTimedOut"
  | "toolFailed"
  | "noAddress"
  | "invalid";

export class NetworkError extends Error {
  override readonly name = "NetworkError";
  readonly code: NetworkErrorCode;

  constructor(code: NetworkErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function notAttached(podId: string): NetworkError {
  return new NetworkError("notAttached", `pod ${podId} has no network here`);
}

export function broken(podId: string, what: string): NetworkError {
  return new NetworkError("broken", `the network of pod ${podId} is broken: ${what}`);
}

/** Checks a pod ID, which becomes a file name and a plugin argument, by CNI's rule for container IDs. */
export function checkPodId(podId: string): void {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(podId))
    throw new NetworkError("invalid", `${JSON.stringify(podId)} cannot be the id of a pod`);
}
