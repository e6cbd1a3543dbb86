import type { FieldErrors } from "./field-errors.ts";

/** Validates a path that must stay below its directory. */
export function validateDescendingPath(path: string, at: FieldErrors): void {
  if (path.startsWith("/")) at.invalid("", path, "must be a relative path");
  validateNoBacksteps(path, at);
}

export function validateNoBacksteps(path: string, at: FieldErrors): void {
  if (path.includes("..") && path.split("/").includes("..")) {
    at.invalid("", path, "must not contain '..'");
  }
}

/** Validates a path that must not start with two dots, which the kubelet reserves for atomic directory updates. */
export function validateUnreservedPath(path: string, at: FieldErrors): void {
  validateDescendingPath(path, at);
  if (path.startsWith("..") && !path.startsWith("../")) at.invalid("", path, "must not start with '..'");
}
