import { PodSandboxConfig } from "../../cri/generated/cri.ts";

/**
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

export type SandboxState =
  | { readonly kind: "making" }
  | { readonly kind: "ready"; readonly namespaces: SandboxNamespaces; readonly addresses: readonly string[] }
  | { readonly kind: "notReady" };

/** What the containers of a sandbox join. */
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

/** The file is ours: what is not shaped like a record throws on the way and is forgotten. */
export function decodeSandbox(value: unknown): SandboxRecord {
  const record = value as SandboxRecord;
  if (!record.id || !record.state.kind) throw new Error("not a sandbox record");
  return { ...record, config: PodSandboxConfig.fromJSON(record.config) };
}

/** One pod and attempt can have one sandbox: what a second RunPodSandbox collides with. */
export function sandboxName({ metadata }: PodSandboxConfig): string {
  return [metadata?.name, metadata?.namespace, metadata?.uid, metadata?.attempt].join("_");
}
