import type { Report } from "./report.ts";

/** A path below some directory, which it may not leave. */
export function validateDescendingPath(path: string, at: Report): void {
  if (path.startsWith("/")) at.invalid("", path, "must be a relative path");
  validateNoBacksteps(path, at);
}

export function validateNoBacksteps(path: string, at: Report): void {
  if (path.includes("..") && path.split("/").includes("..")) {
    at.invalid("", path, "must not contain '..'");
  }
}

/** Names that begin with two dots belong to the kubelet, which swaps whole directories under them. */
export function validateUnreservedPath(path: string, at: Report): void {
  validateDescendingPath(path, at);
  if (path.startsWith("..") && !path.startsWith("../")) at.invalid("", path, "must not start with '..'");
}
