import { status } from "@grpc/grpc-js";
import { isGrpcError } from "../../lib/grpc-call.ts";

/** A failed pull as the pod's status shows it. */
export interface PullFailure {
  readonly reason: "ErrImagePull" | "RegistryUnavailable" | "SignatureValidationFailed";
  readonly message: string;
}

/** Words that runtimes begin an error with, and what upstream makes of them. */
const known = [
  { reason: "RegistryUnavailable", because: "the registry is unavailable" },
  { reason: "SignatureValidationFailed", because: "the signature validation failed" },
] as const;

export function explainPullFailure(image: string, error: string): PullFailure {
  for (const { reason, because } of known) {
    if (error.startsWith(reason)) {
      return {
        reason,
        message: `image pull failed for ${image} because ${because}${error.slice(reason.length)}`,
      };
    }
  }
  return { reason: "ErrImagePull", message: error };
}

/** As Go names them, by number. */
const codeNames =
  "OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated".split(
    " ",
  );

/** A runtime's error in upstream's words: with its code, unless that is `Unknown` and says nothing. */
export function criErrorText(error: unknown): string {
  if (!isGrpcError(error)) return error instanceof Error ? error.message : String(error);
  if (error.code === status.UNKNOWN) return error.details;
  return `rpc error: code = ${codeNames[error.code] ?? error.code} desc = ${error.details}`;
}

/** What several attempts failed with: each text once, in brackets where there is more than one. */
export function joinErrors(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
