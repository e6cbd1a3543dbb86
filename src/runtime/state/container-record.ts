import { ContainerConfig } from "../../cri/generated/cri.ts";

/**
 * ```
 * making ──► created ──► running ──► exited ──► (removed)
 *    └── failed, or the daemon ended: undone and removed
 * ```
 */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** By digest where the image has one: what pods show as imageID. */
  readonly imageRef: string;
  readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
  /** Signal names of the image and the request, decided once. */
  readonly stopSignal: string;
  /** Empty: no log. */
  readonly logPath: string;
  readonly createdAt: number;
  readonly state: ContainerRecordState;
}

export type ContainerRecordState =
  | { readonly kind: "making" }
  | { readonly kind: "created" }
  | { readonly kind: "running"; readonly startedAt: number }
  | ExitedRecordState;

export interface ExitedRecordState {
  readonly kind: "exited";
  readonly exitCode: number;
  /** 0: it never ran. */
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly reason: string;
  readonly message: string;
}

export function encodeContainer(record: ContainerRecord): unknown {
  return { ...record, config: ContainerConfig.toJSON(record.config) };
}

export function decodeContainer(value: unknown): ContainerRecord {
  const record = value as ContainerRecord;
  if (!record.id || !record.sandboxId || !record.state.kind) throw new Error("not a container record");
  return { ...record, config: ContainerConfig.fromJSON(record.config) };
}

/** One attempt of a container can exist once in a sandbox. */
export function containerName(sandboxId: string, { metadata }: ContainerConfig): string {
  return [metadata?.name, sandboxId, metadata?.attempt].join("_");
}
