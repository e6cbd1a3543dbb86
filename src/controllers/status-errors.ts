import { StatusError } from "../api/status-error.ts";

/**
 * Somebody else has changed what this was about to change. That change comes as an event, and the key with it: nothing
 * to try again.
 */
export function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Conflict";
}

export function isNotFound(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "AlreadyExists";
}

/** Nothing can be made in a namespace that goes. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false)
  );
}
