import { type StatusDetails, StatusError, type StatusReason } from "../../api/meta/status-error.ts";

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

interface FailedResponse {
  /** HTTP status code, or that of the Status in a watch event. */
  readonly code: number;
  readonly body: unknown;
  /** `get /api/v1/pods`, for messages of responses without a Status. */
  readonly request: string;
}

/** Converts an error response into a StatusError: from its Status, else from its status code. */
export function readStatusError({ code, body, request }: FailedResponse): StatusError {
  if (isStatus(body)) {
    const given = typeof body.code === "number" && body.code > 0 ? body.code : code;
    return new StatusError(
      given,
      readReason(body.reason) ?? outcomeOf(given).reason,
      typeof body.message === "string" && body.message ? body.message : outcomeOf(given).message,
      typeof body.details === "object" && body.details ? (body.details as StatusDetails) : undefined,
    );
  }
  const { reason, message } = outcomeOf(code);
  const detail = typeof body === "string" && body.trim() ? `: ${JSON.stringify(shorten(body.trim()))}` : "";
  return new StatusError(code, reason, `${message} (${request})${detail}`);
}

interface Outcome {
  readonly reason: StatusReason;
  readonly message: string;
}

const outcomes: Readonly<Record<number, Outcome>> = {
  400: { reason: "BadRequest", message: "the server rejected our request for an unknown reason" },
  401: { reason: "Unauthorized", message: "the server has asked for the client to provide credentials" },
  403: { reason: "Forbidden", message: "the server does not allow the request" },
  404: { reason: "NotFound", message: "the server could not find the requested resource" },
  405: {
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
  },
  406: {
    reason: "NotAcceptable",
    message: "the server was unable to respond with a content type that the client supports",
  },
  409: { reason: "Conflict", message: "the server reported a conflict" },
  410: { reason: "Expired", message: "the requested resource version is no longer available" },
  413: {
    reason: "RequestEntityTooLarge",
    message: "the request is larger than the server is willing to accept",
  },
  415: {
    reason: "UnsupportedMediaType",
    message: "the body of the request was in an unknown format",
  },
  422: { reason: "Invalid", message: "the server rejected our request due to an error in our request" },
  429: {
    reason: "TooManyRequests",
    message: "the server has received too many requests and has asked us to try again later",
  },
  503: {
    reason: "ServiceUnavailable",
    message: "the server is currently unable to handle the request",
  },
  504: {
    reason: "Timeout",
    message:
      "the server was unable to return a response in the time allotted, but may still be processing the request",
  },
};

function outcomeOf(code: number): Outcome {
  return (
    outcomes[code] ??
    (code >= 400 && code < 500
      ? { reason: "BadRequest", message: `the server responded with status ${code}` }
      : {
          reason: "InternalError",
          message: "an error on the server has prevented the request from succeeding",
        })
  );
}

const reasons = new Set<string>([
  ...Object.values(outcomes).map((outcome) => outcome.reason),
  "AlreadyExists",
  "Gone",
  "InternalError",
] satisfies StatusReason[]);

/** Unknown reasons are derived from the status code. */
function readReason(reason: unknown): StatusReason | undefined {
  return typeof reason === "string" && reasons.has(reason) ? (reason as StatusReason) : undefined;
}

function isStatus(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null && "kind" in body && body.kind === "Status";
}

function shorten(text: string): string {
  return text.length > 512 ? `${text.slice(0, 512)}…` : text;
}
