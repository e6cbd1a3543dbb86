// Scripted behaviour of a pod, container or pull. Everything unspecified succeeds immediately.

export interface SandboxScript {
  /** Duration of RunPodSandbox; `Infinity` blocks until the call is cancelled. */
  readonly delayMs?: number;
  /** RunPodSandbox fails with `failed to setup network for sandbox "…": ` and this text. */
  readonly networkError?: string;
  /** RunPodSandbox fails with this text. */
  readonly error?: string;
  /** Number of attempts per pod that fail. Default: all. */
  readonly errorTimes?: number;
  readonly stopDelayMs?: number;
  /** StopPodSandbox fails with `failed to destroy network for sandbox "…": ` and this text. */
  readonly stopError?: string;
}

export interface ContainerScript {
  /** CreateContainer fails with this text. */
  readonly createError?: string;
  /** Duration of StartContainer. */
  readonly startDelayMs?: number;
  /** StartContainer fails with this text; the container exits with 128 and `StartError`. */
  readonly startError?: string;
  readonly exit?: ExitScript;
  /** Time from the stop signal to the exit. If longer than the grace period, the container is killed with 137. */
  readonly stopDelayMs?: number;
  /** Exit code after the stop signal. Default: 143. */
  readonly stopExitCode?: number;
  /** Text written to the log on start. Without it there is no log file. */
  readonly log?: string;
  /** Results of commands: the first step that has not expired, or a function. Default: exit code 0. */
  readonly exec?: readonly ExecStep[] | ((call: ExecCall) => ExecResult);
  readonly usage?: Usage;
}

export interface ExitScript {
  readonly code: number;
  /** Time after the start. Default: 0. */
  readonly afterMs?: number;
  /** Number of attempts that exit (attempt 0 is the first); later ones keep running. Default: all. */
  readonly times?: number;
  /** Default: `Completed` for code 0, `Error` for others. */
  readonly reason?: string;
  readonly message?: string;
}

export interface ExecResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** Duration of the command. */
  readonly delayMs?: number;
}

export interface ExecStep extends ExecResult {
  /** Time since the container's start until which the step applies. Default: no limit. */
  readonly untilMs?: number;
}

export interface ExecCall {
  readonly command: readonly string[];
  readonly sinceStartMs: number;
}

export interface Usage {
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

export interface PullScript {
  /** Default: 10 MiB. */
  readonly sizeBytes?: number;
  /** Number of layers of equal size. Default: 1. */
  readonly layers?: number;
  /** Default: unlimited. */
  readonly bytesPerSecond?: number;
  /** Delay before the first byte. */
  readonly delayMs?: number;
  /** Byte offset at which the download stalls for `stallMs`. */
  readonly stallAtByte?: number;
  /** Default: forever. */
  readonly stallMs?: number;
  /** Duration of unpacking after the last byte. */
  readonly unpackMs?: number;
  /** Required credentials; other pulls are unauthorized. */
  readonly credentials?: { readonly username: string; readonly password: string };
  readonly failure?: PullFailure;
}

export interface PullFailure {
  readonly kind: "unauthorized" | "notFound" | "unavailable";
  /** Replaces the default error text. */
  readonly message?: string;
  /** Byte offset at which the pull fails. Default: 0. */
  readonly atByte?: number;
}

/** Scripted volume setup, which the kubelet requests because CRI has no call for it. */
interface VolumeScript {
  /** Duration of the setup; `Infinity` blocks until it is cancelled. */
  readonly delayMs?: number;
  /** The setup fails with this text. */
  readonly error?: string;
}

export interface ProbeScript {
  /** Failure text of probes. Without it, exec probes use the exec script and all others succeed. */
  readonly failure?: string;
}

/** Scripted status of the node. Undefined means ready. */
interface StatusScript {
  /** Message of RuntimeReady=false. */
  readonly runtimeProblem?: string;
  /** Message of NetworkReady=false. */
  readonly networkProblem?: string;
}

export interface Scripts {
  readonly sandbox: SandboxScript;
  readonly container: ContainerScript;
  readonly pull: PullScript;
  readonly volume: VolumeScript;
  readonly probe: ProbeScript;
  readonly status: StatusScript;
}
