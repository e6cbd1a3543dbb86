// What a simulated runtime does with one pod, container or pull. Everything left out goes well and at once.

export interface SandboxScript {
  /** How long RunPodSandbox takes; `Infinity`: until its caller gives up. */
  readonly delayMs?: number;
  /** RunPodSandbox fails with `failed to setup network for sandbox "…": ` and this. */
  readonly networkError?: string;
  /** RunPodSandbox fails with this. */
  readonly error?: string;
  /** Of each pod, how many tries fail; every one unless told. */
  readonly errorTimes?: number;
  readonly stopDelayMs?: number;
  /** StopPodSandbox fails with `failed to destroy network for sandbox "…": ` and this. */
  readonly stopError?: string;
}

export interface ContainerScript {
  /** CreateContainer fails with this. */
  readonly createError?: string;
  /** How long StartContainer takes. */
  readonly startDelayMs?: number;
  /** StartContainer fails with this; the container has exited with 128, `StartError`. */
  readonly startError?: string;
  readonly exit?: ExitScript;
  /** How long it takes from its stop signal to its end; longer than the grace period: it is killed, 137. */
  readonly stopDelayMs?: number;
  /** With what it ends after its stop signal; 143 unless told. */
  readonly stopExitCode?: number;
  /** What it writes to its log when it starts. Without it there is no log file. */
  readonly log?: string;
  /** What commands in it answer: the first step that is not over, or a function. Exit code 0 unless told. */
  readonly exec?: readonly ExecStep[] | ((call: ExecCall) => ExecAnswer);
  readonly usage?: Usage;
}

export interface ExitScript {
  readonly code: number;
  /** After its start; 0 unless told. */
  readonly afterMs?: number;
  /** So many attempts exit (attempt 0 is the first), later ones stay up; every one unless told. */
  readonly times?: number;
  /** `Completed` for code 0 and `Error` for others unless told. */
  readonly reason?: string;
  readonly message?: string;
}

export interface ExecAnswer {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** How long the command takes. */
  readonly delayMs?: number;
}

export interface ExecStep extends ExecAnswer {
  /** Since the container's start; for ever unless told. */
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
  /** 10 MiB unless told. */
  readonly sizeBytes?: number;
  /** 1 unless told; equal parts of the size. */
  readonly layers?: number;
  /** At once unless told. */
  readonly bytesPerSecond?: number;
  /** How long the registry takes before the first byte. */
  readonly delayMs?: number;
  /** Where nothing more comes, for `stallMs`. */
  readonly stallAtByte?: number;
  /** For ever unless told. */
  readonly stallMs?: number;
  /** How long unpacking takes after the last byte. */
  readonly unpackMs?: number;
  /** Who does not bring these is not authorized. */
  readonly credentials?: { readonly username: string; readonly password: string };
  readonly failure?: PullFailure;
}

export interface PullFailure {
  readonly kind: "unauthorized" | "notFound" | "unavailable";
  /** Instead of the usual text. */
  readonly message?: string;
  /** So far it goes well. */
  readonly atByte?: number;
}

/** What a node does for a pod beside its runtime: CRI has no call for it, the kubelet asks. */
interface VolumeScript {
  /** How long it takes to set one up; `Infinity`: until its caller gives up. */
  readonly delayMs?: number;
  /** Setting it up fails with this. */
  readonly error?: string;
}

export interface ProbeScript {
  /** Why probes fail. Without it, commands answer by their script and every other probe succeeds. */
  readonly failure?: string;
}

/** How the node is; undefined is well. */
interface StatusScript {
  /** Why RuntimeReady is false. */
  readonly runtimeProblem?: string;
  /** Why NetworkReady is false. */
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
