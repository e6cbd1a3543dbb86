/** Facts about the node that a container's configuration depends on. */
export interface ContainerNodeFacts {
  readonly memoryBytes: number;
  /** `status.allocatable` of the node. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** Addresses of the node, the primary one first. */
  readonly hostIps: readonly string[];
  readonly machine: MachineFacts;
}

/** Facts about the machine that do not change while it runs. */
export interface MachineFacts {
  readonly cgroupVersion: 1 | 2;
  /** Whether cgroups can limit swap. */
  readonly limitsSwap: boolean;
  readonly selinux: boolean;
  /** Names in the form that cgroups use: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Sensors in /sys through which a container could observe other containers; masked. */
  readonly thermalPaths: readonly string[];
}
