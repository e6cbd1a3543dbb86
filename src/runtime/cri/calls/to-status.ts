import { type StatusObject, status } from "@grpc/grpc-js";
import { messageOf } from "../../../lib/message-of.ts";
import { DriverError, type DriverErrorKind } from "../../drivers/driver.ts";
import { ImageError, type ImageErrorCode } from "../../errors/image-error.ts";
import { RuntimeError, type RuntimeErrorCode } from "../../errors/runtime-error.ts";
import { NetworkError, type NetworkErrorCode } from "../../networks/network.ts";

const codes: Readonly<Record<RuntimeErrorCode, status>> = {
  invalidArgument: status.INVALID_ARGUMENT,
  notFound: status.NOT_FOUND,
  alreadyExists: status.ALREADY_EXISTS,
  failedPrecondition: status.FAILED_PRECONDITION,
  deadlineExceeded: status.DEADLINE_EXCEEDED,
  unimplemented: status.UNIMPLEMENTED,
  resourceExhausted: status.RESOURCE_EXHAUSTED,
  internal: status.UNKNOWN,
};

const driverCodes: Readonly<Record<DriverErrorKind, status>> = {
  notFound: status.NOT_FOUND,
  alreadyExists: status.ALREADY_EXISTS,
  wrongState: status.FAILED_PRECONDITION,
  invalid: status.INVALID_ARGUMENT,
  unsupported: status.UNIMPLEMENTED,
  failed: status.UNKNOWN,
};

/** Statuses of image errors; the others are UNKNOWN. */
const imageCodes: Partial<Record<ImageErrorCode, status>> = {
  invalidReference: status.INVALID_ARGUMENT,
  notFound: status.NOT_FOUND,
  unauthorized: status.UNAUTHENTICATED,
  noProgress: status.DEADLINE_EXCEEDED,
  noSpace: status.RESOURCE_EXHAUSTED,
  tooLarge: status.RESOURCE_EXHAUSTED,
  inUse: status.FAILED_PRECONDITION,
  network: status.UNAVAILABLE,
  cancelled: status.CANCELLED,
};

const networkCodes: Partial<Record<NetworkErrorCode, status>> = {
  noAddress: status.RESOURCE_EXHAUSTED,
  invalid: status.INVALID_ARGUMENT,
};

/** Maps errors to gRPC statuses. Other errors are UNKNOWN, as in a Go server. */
export function toStatus(error: unknown): Pick<StatusObject, "code" | "details"> {
  if (error instanceof RuntimeError) return { code: codes[error.code], details: error.message };
  if (error instanceof DriverError) return { code: driverCodes[error.kind], details: error.message };
  if (error instanceof ImageError)
    return { code: imageCodes[error.code] ?? status.UNKNOWN, details: error.message };
  if (error instanceof NetworkError)
    return { code: networkCodes[error.code] ?? status.UNKNOWN, details: error.message };
  const details = messageOf(error);
  return { code: status.UNKNOWN, details };
}
