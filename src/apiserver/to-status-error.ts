import {
  expired,
  internalError,
  requestTooLarge,
  StatusError,
  serviceUnavailable,
} from "../api/status-error.ts";
import { StoreError } from "../store/store-error.ts";

/** The one place where whatever went wrong becomes what the API says about it. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof StoreError) return storeFailure(error);
  return internalError(error instanceof Error ? error.message : String(error));
}

function storeFailure(error: StoreError): StatusError {
  switch (error.code) {
    case "compacted":
      return expired(error.message);
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
