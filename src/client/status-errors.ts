import { StatusError } from "../api/status-error.ts";

/** Somebody else has changed, or replaced, what this was about to change. Whoever follows it hears of that. */
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
