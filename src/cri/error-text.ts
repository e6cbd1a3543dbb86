import { status } from "@grpc/grpc-js";
import { isGrpcError } from "../lib/grpc-call.ts";
import { messageOf } from "../lib/message-of.ts";

/** As Go names them, by number. */
const codeNames =
  "OK Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated".split(
    " ",
  );

/** A runtime's error in upstream's words: with its code, unless that is `Unknown` and says nothing. */
export function criErrorText(error: unknown): string {
  if (!isGrpcError(error)) return messageOf(error);
  if (error.code === status.UNKNOWN) return error.details;
  return `rpc error: code = ${codeNames[error.code] ?? error.code} desc = ${error.details}`;
}
