import type { FieldErrors } from "./field-errors.ts";
import { dnsSubdomainProblems } from "./names.ts";

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

const pathFormat = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

/** Validates the name of a controller, which is a domain and a path: `example.com/controller`. */
export function validateDomainPrefixedPath(field: string, value: string, at: FieldErrors): void {
  if (value === "") {
    at.required(field);
    return;
  }
  const slash = value.indexOf("/");
  const host = value.slice(0, slash);
  const path = value.slice(slash + 1);
  if (slash <= 0 || path === "") {
    at.invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  at.problems(field, host, dnsSubdomainProblems(host));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) {
    at.invalid(field, path, `Invalid path (regex used for validation is '${pathFormat}')`);
  }
}
