/** What a container's configuration depends on beside its pod. */
export interface NodeFacts {
  readonly memoryBytes: number;
  /** As in the node's status. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The node's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  readonly machine: MachineFacts;
}

/** What does not change while the machine runs. */
export interface MachineFacts {
  readonly cgroupVersion: 1 | 2;
  /** Whether cgroups can limit swap. */
  readonly limitsSwap: boolean;
  readonly selinux: boolean;
  /** As cgroups name them: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Sensors in /sys from which a container could watch its neighbours. */
  readonly thermalPaths: readonly string[];
}
