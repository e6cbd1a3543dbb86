import type { Readable } from "node:stream";
import { messageOf } from "../../lib/message-of.ts";

/**
 * Runs containers: `oci` (runc or crun) or `host` (util-linux alone). Both pass driver.contract.ts. Containers and
 * their exit codes survive the daemon: a driver keeps its state on disk.
 */
export interface Driver {
  readonly name: "oci" | "host";
  /** Missing isolation or limits, in sentences, for the runtime's status. */
  readonly limitations: readonly string[];
  /** Creates the container up to its process, which waits. A failed or aborted call leaves nothing behind. */
  create(container: ContainerSpec, options?: CallOptions): Promise<void>;
  /** Starts the process. After an abort it may or may not have started; the caller removes the container. */
  start(containerId: string, options?: CallOptions): Promise<void>;
  /** Current state, also of a container that an earlier daemon started. A partly created container is missing. */
  state(containerId: string): Promise<ContainerState>;
  /** Resolves when the container has exited. */
  wait(containerId: string, signal: AbortSignal): Promise<ExitedState>;
  kill(containerId: string, signalName: string): Promise<void>;
  /** Kills remaining processes and removes the container completely: cgroup, mounts, state directory. Idempotent. */
  remove(containerId: string): Promise<void>;
  exec(containerId: string, options: ExecOptions): Promise<ExecProcess>;
  /** Standard streams of the container's own process. */
  attach(containerId: string): Promise<AttachStreams>;
  updateResources(containerId: string, resources: LinuxResources): Promise<void>;
  stats(containerId: string): Promise<ContainerUsage | undefined>;
  /** Reopens the log file after it was moved away. */
  reopenLog(containerId: string): Promise<void>;
  /** Containers that this driver has state for. */
  list(): Promise<readonly string[]>;
  /** Closes watches and streams; the containers keep running. */
  close(): Promise<void>;
}

export interface CallOptions {
  /** Kills the programs that the driver runs for the call. */
  readonly signal?: AbortSignal;
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

/** Specification of a container. All paths are on the host unless stated otherwise. */
export interface ContainerSpec {
  readonly id: string;
  /** Handler of the pod's RuntimeClass; empty or undefined for the default driver. */
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
  /** Resource limits with OCI names such as RLIMIT_NOFILE; others are the daemon's own. */
  readonly rlimits?: readonly { readonly type: string; readonly soft: number; readonly hard: number }[];
  readonly oomScoreAdj: number | undefined;
  readonly terminal: boolean;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  /** Path of the log in CRI's format; empty for no log. */
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

/** Namespaces: a path to join, `host` for the host's, `new` for the container's own. */
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
  /** Limits by page size in the kernel's format: `2MB`. Ignored where the machine does not account for huge pages. */
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
  /** Kills the process, like `kill`. */
  readonly signal?: AbortSignal;
}

export interface ExecProcess {
  readonly stdin: NodeJS.WritableStream | undefined;
  readonly stdout: Readable;
  /** Undefined with a terminal, which writes everything to stdout. */
  readonly stderr: Readable | undefined;
  resize(columns: number, rows: number): Promise<void>;
  /** Kills the process and everything it started. */
  kill(): Promise<void>;
  /**
   * Rejects with a DriverError when the program could not be started. Settles after the streams have ended, or soon
   * after the program when another process keeps them open; buffered data can then still be read.
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

/** Kind of a driver error, which the CRI server maps to a gRPC status. */
export type DriverErrorKind =
  | "notFound"
  | "alreadyExists"
  | "wrongState"
  | "invalid"
  | "unsupported"
  | "failed";

export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly kind: DriverErrorKind;

  constructor(kind: DriverErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function containerNotFound(containerId: string): DriverError {
  return new DriverError("notFound", `container ${containerId} does not exist`);
}

export function containerExists(containerId: string): DriverError {
  return new DriverError("alreadyExists", `container ${containerId} exists already`);
}

export function wrongState(containerId: string, is: string, wanted: string): DriverError {
  return new DriverError("wrongState", `container ${containerId} is ${is}, not ${wanted}`);
}

export function driverFailed(doing: string, cause: unknown): DriverError {
  const reason = messageOf(cause);
  return new DriverError("failed", `${doing}: ${reason}`, { cause });
}

/** Checks a container ID, which becomes a file name and a cgroup name. */
export function checkContainerId(containerId: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(containerId)) {
    throw new DriverError("invalid", `"${containerId}" cannot be a container's id`);
  }
}
