import type { ImageErrorCode } from "../image/image-error.ts";
import type { UnpackRequest, UnpackResult } from "./unpack-layer.ts";

/** What the daemon asks of the unpack process. */
export type UnpackMessage =
  | { readonly kind: "unpack"; readonly id: number; readonly request: UnpackRequest }
  /** Begins hashing a file that is still growing. */
  | { readonly kind: "hash"; readonly id: number; readonly file: string }
  /** So many bytes of the file are there; `last` when they are all. */
  | { readonly kind: "available"; readonly id: number; readonly bytes: number; readonly last: boolean }
  | { readonly kind: "cancel"; readonly id: number };

export type UnpackAnswer =
  /** Once, first: whether the kernel confines the process. */
  | { readonly kind: "ready"; readonly jailed: boolean }
  | { readonly kind: "unpacked"; readonly id: number; readonly result: UnpackResult }
  | { readonly kind: "hashed"; readonly id: number; readonly digest: string }
  | { readonly kind: "failed"; readonly id: number; readonly code: ImageErrorCode; readonly message: string };

export type JobAnswer = Exclude<UnpackAnswer, { kind: "ready" }>;
