import { toNanos } from "../../cri/field-values.ts";
import {
  type PodSandbox,
  PodSandboxConfig,
  PodSandboxState,
  PodSandboxStatus,
} from "../../cri/generated/cri.ts";

/**
 * Record of a sandbox.
 * ```
 * making ──► ready ──► notReady ──► (removed)
 *    └── failed, or the daemon ended: undone and removed
 * ```
 */
export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly state: SandboxState;
}

export type SandboxState = { readonly kind: "making" } | ReadySandbox | { readonly kind: "notReady" };

export interface ReadySandbox {
  readonly kind: "ready";
  readonly namespaces: SandboxNamespaces;
  readonly addresses: readonly string[];
  readonly container: SandboxContainer;
}

/**
 * Container that a sandbox itself has, under the sandbox's ID:
 * - `none`: the pod's namespaces are pinned without a process;
 * - `pause`: a process that holds the PID namespace which the pod's containers share;
 * - `handler`: created by the handler of the pod's RuntimeClass; the pod's containers join it.
 */
export type SandboxContainer = "none" | "pause" | "handler";

/** Namespaces that the containers of a sandbox join. */
export interface SandboxNamespaces {
  readonly network: string | "host";
  readonly ipc: string | "host";
  readonly uts: string | "host";
  /** `pause`: the namespace of the sandbox's pause process; `none`: containers do not share one. */
  readonly pid: "none" | "host" | "pause";
}

export function encodeSandbox(record: SandboxRecord): unknown {
  return { ...record, config: PodSandboxConfig.toJSON(record.config) };
}

/** Decodes a record. Values of another shape throw, and the record is deleted. */
export function decodeSandbox(value: unknown): SandboxRecord {
  const record = value as SandboxRecord;
  if (!record.id || !record.state.kind) throw new Error("not a sandbox record");
  return { ...record, config: PodSandboxConfig.fromJSON(record.config), state: decodeState(record.state) };
}

/** Completes records of earlier versions, which have no `container` because handlers did not create sandboxes. */
function decodeState(state: SandboxState): SandboxState {
  if (state.kind !== "ready") return state;
  const { container = state.namespaces.pid === "pause" ? "pause" : "none" }: Partial<ReadySandbox> = state;
  return { ...state, container };
}

/** Unique name of a sandbox: one pod and attempt can have only one. */
export function sandboxName({ metadata }: PodSandboxConfig): string {
  return [metadata?.name, metadata?.namespace, metadata?.uid, metadata?.attempt].join("_");
}

export function sandboxMessage(sandbox: SandboxRecord): PodSandbox {
  const { id, config, createdAt, runtimeHandler } = sandbox;
  const { metadata, labels, annotations } = config;
  const state = sandboxStateValue(sandbox);
  return { id, metadata, state, createdAt: toNanos(createdAt), labels, annotations, runtimeHandler };
}

export function sandboxStatusMessage(sandbox: SandboxRecord): PodSandboxStatus {
  const { config, state } = sandbox;
  const [ip = "", ...additional] = state.kind === "ready" ? state.addresses : [];
  return PodSandboxStatus.fromPartial({
    ...sandboxMessage(sandbox),
    network: { ip, additionalIps: additional.map((address) => ({ ip: address })) },
    linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions ?? {} } },
  });
}

export function sandboxStateValue({ state }: SandboxRecord): PodSandboxState {
  return state.kind === "ready" ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}
