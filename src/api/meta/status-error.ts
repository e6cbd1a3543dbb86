import type { FieldError } from "./field-errors.ts";
import { qualifiedName, type Resource } from "./resource.ts";

/** Kubernetes `Status`: the response to a failed request and to some deletes. */
export interface Status {
  kind: "Status";
  apiVersion: "v1";
  metadata: Record<string, never>;
  status: "Success" | "Failure";
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

export type StatusReason =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Expired"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "Invalid"
  | "TooManyRequests"
  | "InternalError"
  | "ServiceUnavailable"
  | "Timeout";

/**
 * StatusError is the error of an API request, on both sides: handlers throw it and the client throws what it received.
 * Create it with the functions below, which set code, reason and upstream's message. `toStatusError` of the API server
 * converts all other errors before the response is sent.
 */
export class StatusError extends Error {
  /** HTTP status code. */
  readonly code: number;
  /** Machine-readable reason. Compare this, not the message. */
  readonly reason: StatusReason;
  /** Object that the request is about, and the causes of `Invalid`. */
  readonly details: StatusDetails | undefined;
  /** Texts of `Warning` headers. */
  warnings: readonly string[] = [];

  constructor(code: number, reason: StatusReason, message: string, details?: StatusDetails) {
    super(message);
    this.name = "StatusError";
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

type Named = Pick<Resource, "group" | "plural">;

function detailsOf(resource: Named, name: string): StatusDetails {
  return { ...(name && { name }), ...(resource.group && { group: resource.group }), kind: resource.plural };
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

export function unauthorized(): StatusError {
  return new StatusError(401, "Unauthorized", "Unauthorized");
}

/** Error 403. `detail` contains the user and the denied action. */
export function forbidden(resource: Named, name: string, detail: string): StatusError {
  const subject = name ? `${qualifiedName(resource)} "${name}"` : qualifiedName(resource);
  return new StatusError(403, "Forbidden", `${subject} is forbidden: ${detail}`, detailsOf(resource, name));
}

export function notFound(resource: Named, name: string): StatusError {
  return new StatusError(
    404,
    "NotFound",
    `${qualifiedName(resource)} "${name}" not found`,
    detailsOf(resource, name),
  );
}

/** Error 404 for an unknown path. */
export function pathNotFound(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

/** Error 405 for a path that does not support the method. */
export function methodNotAllowed(): StatusError {
  const message = "the server does not allow this method on the requested resource";
  return new StatusError(405, "MethodNotAllowed", message, {});
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  return new StatusError(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${accepted.join(", ")}`,
  );
}

export function alreadyExists(resource: Named, name: string): StatusError {
  return new StatusError(
    409,
    "AlreadyExists",
    `${qualifiedName(resource)} "${name}" already exists`,
    detailsOf(resource, name),
  );
}

export function conflict(resource: Named, name: string, detail: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualifiedName(resource)} "${name}": ${detail}`;
  return new StatusError(409, "Conflict", message, detailsOf(resource, name));
}

export const modifiedDetail =
  "the object has been modified; please apply your changes to the latest version and try again";

/** Error 410 for a resource version that is no longer available: the client must list again. */
export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

export function requestTooLarge(message: string): StatusError {
  return new StatusError(413, "RequestEntityTooLarge", `Request entity too large: ${message}`);
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, "UnsupportedMediaType", message);
}

/** Error 422 for an invalid object, with all of its field errors. */
export function invalidObject(
  resource: Pick<Resource, "group" | "kind">,
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const sentences = errors.map((error) => `${error.field}: ${error.message}`);
  const list = sentences.length === 1 ? sentences[0] : `[${sentences.join(", ")}]`;
  const kind = resource.group ? `${resource.kind}.${resource.group}` : resource.kind;
  return new StatusError(422, "Invalid", `${kind} "${name}" is invalid: ${list}`, {
    ...(name && { name }),
    ...(resource.group && { group: resource.group }),
    ...(resource.kind && { kind: resource.kind }),
    causes: errors.map((error) => ({ reason: error.type, message: error.message, field: error.field })),
  });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): StatusError {
  return new StatusError(429, "TooManyRequests", message, { retryAfterSeconds });
}

export function internalError(message: string): StatusError {
  return new StatusError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

export function serviceUnavailable(message: string): StatusError {
  return new StatusError(503, "ServiceUnavailable", message);
}

export function timeout(message: string, causes?: StatusDetails["causes"]): StatusError {
  return new StatusError(504, "Timeout", `Timeout: ${message}`, {
    ...(causes && { causes }),
    retryAfterSeconds: 1,
  });
}
