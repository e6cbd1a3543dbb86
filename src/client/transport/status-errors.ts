import { StatusError } from "../../api/meta/status-error.ts";

/** The object was changed or replaced by another writer. */
export function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Conflict";
}

export function isNotFound(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "AlreadyExists";
}

/** Objects cannot be created in a terminating namespace. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false)
  );
}
