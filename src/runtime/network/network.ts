/** Gives pods their network: CNI plugins where they are configured, else a bridge of our own, else the host's network. */
export interface Network {
  readonly name: "cni" | "bridge" | "host";
  /** What pods do not get here, in sentences, for the runtime's status. */
  readonly limitations: readonly string[];
  /** Undefined when pods can get addresses; else why not, for the NetworkReady condition. */
  problem(): Promise<string | undefined>;
  /** Gives the pod a network namespace with an address. Idempotent for one pod; on failure nothing is left. */
  attach(pod: PodNetworkRequest): Promise<PodNetwork>;
  /** Still as it was made? Rejects with what is broken (CNI CHECK). */
  check(podId: string): Promise<void>;
  /** Releases address, port mappings and namespace, whatever state they are in. Idempotent. */
  detach(podId: string): Promise<void>;
  /** Pods that hold an address or a namespace, from disk: also those of a daemon that was killed. */
  list(): Promise<readonly string[]>;
  /** The daemon stops: removes what no pod uses any more. Pods and what they need stay. */
  close(): Promise<void>;
}

export interface PodNetworkRequest {
  readonly podId: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly portMappings: readonly PortMapping[];
  /** Annotations that plugins may look at (bandwidth). */
  readonly annotations: Readonly<Record<string, string>>;
  /**
   * A network namespace that the caller has pinned (pin-namespaces) and will unpin. Missing: attach pins one and
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
  /** The path of the network namespace, pinned: it lives without a process in it. `host` for the host's own. */
  readonly namespacePath: string | "host";
  readonly addresses: readonly string[];
}
