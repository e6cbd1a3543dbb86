import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { messageOf } from "../../lib/message-of.ts";

// Failures have the shape of grpc-js errors, so that in-process callers catch the same errors as over a socket.

export function failure(code: status, details: string): ServiceError {
  const error = new Error(`${code} ${status[code]}: ${details}`);
  return Object.assign(error, { code, details, metadata: new Metadata() });
}

export const notFound = (what: string, id: string) => failure(status.NOT_FOUND, `there is no ${what} ${id}`);
export const invalidArgument = (details: string) => failure(status.INVALID_ARGUMENT, details);
export const failedPrecondition = (details: string) => failure(status.FAILED_PRECONDITION, details);
export const alreadyExists = (details: string) => failure(status.ALREADY_EXISTS, details);
export const unimplemented = (details: string) => failure(status.UNIMPLEMENTED, details);
export const unavailable = (details: string) => failure(status.UNAVAILABLE, details);
/** Code of Go servers for errors without a code, which most runtime errors are. */
export const unknownFailure = (details: string) => failure(status.UNKNOWN, details);

export function toStatus(error: unknown): Pick<StatusObject, "code" | "details"> {
  if (isGrpcError(error)) return { code: error.code, details: error.details };
  return { code: status.UNKNOWN, details: messageOf(error) };
}
