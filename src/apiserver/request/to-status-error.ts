import {
  badRequest,
  expired,
  internalError,
  requestTooLarge,
  StatusError,
  serviceUnavailable,
} from "../../api/meta/status-error.ts";
import { messageOf } from "../../lib/message-of.ts";
import { StoreError } from "../../store/store.ts";

/** Translates any error into the Status that the API returns. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof StoreError) return storeFailure(error);
  // The client has disconnected: the code only appears in metrics, where it is not a server error.
  if (isLostConnection(error)) return badRequest("the client went away before the request was complete");
  return internalError(messageOf(error));
}

function isLostConnection(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET";
}

function storeFailure(error: StoreError): StatusError {
  switch (error.code) {
    case "compacted":
      return expired(`too old resource version: ${error.message}`);
    case "valueTooLarge":
      return requestTooLarge(error.message);
    case "noSpace":
    case "unavailable":
    case "closed":
      return serviceUnavailable(error.message);
    default:
      return internalError(error.message);
  }
}
