import type {
  ContainerMetadata,
  ImageSpec,
  LinuxContainerResources,
  Mount,
  NamespaceOption,
  PodSandboxMetadata,
  Signal,
} from "../cri/generated/cri.ts";
import type { AnnotatedScripts } from "./script/annotations.ts";

// What is kept of a pod: what its status shows and no more, since there are thousands of them.

/**
 * ```
 * making ──► ready ──► notReady ──► (removed)
 *    └── failed: gone
 * ```
 */
export interface SandboxRecord {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly handler: string;
  readonly logDirectory: string;
  readonly namespaces: NamespaceOption | undefined;
  readonly createdAt: number;
  readonly scripts: AnnotatedScripts | undefined;
  readonly containers: ContainerRecord[];
  /** Empty: on the host's network, or given back. */
  address: string;
  state: "making" | "ready" | "notReady";
}

export interface ContainerRecord {
  readonly id: string;
  readonly sandbox: SandboxRecord;
  readonly metadata: ContainerMetadata;
  readonly image: ImageSpec;
  readonly imageId: string;
  readonly imageRef: string;
  readonly labels: Record<string, string>;
  readonly annotations: Record<string, string>;
  readonly mounts: Partial<Mount>[];
  /** Below the sandbox's directory. */
  readonly logPath: string;
  readonly stopSignal: Signal;
  readonly createdAt: number;
  resources: LinuxContainerResources | undefined;
  state: ContainerState;
}

/** created ──► running ──► exited ──► (removed) */
type ContainerState =
  | { readonly kind: "created" }
  | {
      readonly kind: "running";
      readonly startedAt: number;
      /** How it will end by itself. */
      readonly exit?: PlannedExit;
    }
  | ExitedState;

interface ExitedState extends Ending {
  readonly kind: "exited";
  /** 0: it never ran. */
  readonly startedAt: number;
  readonly finishedAt: number;
}

export interface Ending {
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
}

export interface PlannedExit extends Ending {
  readonly atMs: number;
}

export const killed: Ending = { exitCode: 137, reason: "Error", message: "" };
