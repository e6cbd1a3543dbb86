import type { Readable } from "node:stream";

/**
 * How containers come to run: `oci` (runc or crun) or `host` (util-linux alone). Both pass driver.contract.
 * Containers and their exit codes outlive the daemon: whatever a driver needs to know it finds again on disk.
 */
export interface Driver {
  readonly name: "oci" | "host";
  /** What this driver does not isolate or limit here, in sentences, for the runtime's status. */
  readonly limitations: readonly string[];
  /** Makes everything ready up to the container's process, which waits. */
  create(container: ContainerSpec): Promise<void>;
  start(containerId: string): Promise<void>;
  /** What is known now, also of a container that an earlier daemon started; one that was never quite made is missing. */
  state(containerId: string): Promise<ContainerState>;
  /** Resolves when it has exited; at once when it has already. */
  wait(containerId: string, signal: AbortSignal): Promise<ExitedState>;
  kill(containerId: string, signalName: string): Promise<void>;
  /** Kills what is left and removes every trace: cgroup, mounts of its own, state directory. Idempotent. */
  remove(containerId: string): Promise<void>;
  exec(containerId: string, options: ExecOptions): Promise<ExecProcess>;
  /** The standard streams of the container's own process. */
  attach(containerId: string): Promise<AttachStreams>;
  updateResources(containerId: string, resources: LinuxResources): Promise<void>;
  stats(containerId: string): Promise<ContainerUsage | undefined>;
  /** The log file was moved away: go on in a new one. */
  reopenLog(containerId: string): Promise<void>;
  /** Containers that this driver has state for, whoever made them. */
  list(): Promise<readonly string[]>;
  /** Lets go of watches and streams; the containers go on without us. */
  close(): Promise<void>;
}

export type ContainerState =
  | { readonly kind: "missing" }
  | { readonly kind: "created" }
  | { readonly kind: "running"; readonly pid: number; readonly startedAt: number }
  | ExitedState;

export interface ExitedState {
  readonly kind: "exited";
  readonly exitCode: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly oomKilled: boolean;
}

/** Everything about a container that a driver turns into processes; all paths are on the host unless said otherwise. */
export interface ContainerSpec {
  readonly id: string;
  /** Of the pod's RuntimeClass; empty or missing: the driver that was chosen. */
  readonly handler?: string;
  readonly rootfs: string;
  readonly readonlyRootfs: boolean;
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly workingDir: string;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  readonly hostname: string;
  readonly mounts: readonly Mount[];
  readonly devices: readonly {
    readonly hostPath: string;
    readonly containerPath: string;
    readonly permissions: string;
  }[];
  readonly namespaces: Namespaces;
  readonly cgroupParent: string;
  readonly resources: LinuxResources;
  readonly security: SecurityOptions;
  readonly sysctls: Readonly<Record<string, string>>;
  /** OCI names: RLIMIT_NOFILE and so on; what is not given is the daemon's own. */
  readonly rlimits?: readonly { readonly type: string; readonly soft: number; readonly hard: number }[];
  readonly oomScoreAdj: number | undefined;
  readonly terminal: boolean;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  /** CRI's log format is written there; empty: no log. */
  readonly logPath: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Mount {
  readonly source: string;
  readonly destination: string;
  readonly readonly: boolean;
  readonly propagation: "private" | "hostToContainer" | "bidirectional";
  readonly recursiveReadonly: boolean;
}

/** Paths of namespaces to join, `host` to stay in the host's, `new` for one of the container's own. */
export interface Namespaces {
  readonly network: string | "host" | "new";
  readonly ipc: string | "host" | "new";
  readonly uts: string | "host" | "new";
  readonly pid: string | "host" | "new";
}

export interface LinuxResources {
  readonly cpuShares?: number;
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryLimitBytes?: number;
  readonly memorySwapLimitBytes?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly pidsLimit?: number;
  /** By page size as the kernel's files have it: `2MB`. Where the machine does not account for them there is no limit. */
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limitBytes: number }[];
  readonly unified?: Readonly<Record<string, string>>;
}

export interface SecurityOptions {
  readonly privileged: boolean;
  readonly capabilities: { readonly add: readonly string[]; readonly drop: readonly string[] };
  readonly noNewPrivileges: boolean;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
  readonly seccomp:
    | { readonly kind: "unconfined" }
    | { readonly kind: "runtimeDefault" }
    | { readonly kind: "localhost"; readonly path: string };
  readonly apparmorProfile: string | undefined;
}

export interface ExecOptions {
  readonly args: readonly string[];
  readonly terminal: boolean;
  readonly stdin: boolean;
  /** Aborting is as `kill`. */
  readonly signal?: AbortSignal;
}

export interface ExecProcess {
  readonly stdin: NodeJS.WritableStream | undefined;
  readonly stdout: Readable;
  /** Missing with a terminal: there everything comes on stdout. */
  readonly stderr: Readable | undefined;
  resize(columns: number, rows: number): Promise<void>;
  /** Ends the process and whatever it started. */
  kill(): Promise<void>;
  /**
   * Rejects with a DriverError when the program could not be started. Settles after the streams have ended, or soon
   * after the program where something else keeps them open; what they hold can then still be read.
   */
  readonly exitCode: Promise<number>;
}

export interface AttachStreams {
  readonly stdin: NodeJS.WritableStream | undefined;
  readonly stdout: NodeJS.ReadableStream;
  readonly stderr: NodeJS.ReadableStream | undefined;
  resize(columns: number, rows: number): Promise<void>;
  close(): void;
}

export interface ContainerUsage {
  readonly cpuNanos: number;
  readonly memoryWorkingSetBytes: number;
  readonly memoryUsageBytes: number;
  readonly memoryRssBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  readonly pids: number;
}
