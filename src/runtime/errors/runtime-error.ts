/** Reason why a CRI call failed; cri/calls/to-status.ts maps it to a gRPC status. */
export type RuntimeErrorCode =
  | "invalidArgument"
  | "notFound"
  | "alreadyExists"
  | "failedPrecondition"
  | "deadlineExceeded"
  | "unimplemented"
  | "resourceExhausted"
  | "internal";

export class RuntimeError extends Error {
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "RuntimeError";
    this.code = code;
  }
}

export const invalidArgument = (message: string) => new RuntimeError("invalidArgument", message);
export const notFound = (what: string, id: string) =>
  new RuntimeError("notFound", `there is no ${what} ${id}`);
export const failedPrecondition = (message: string) => new RuntimeError("failedPrecondition", message);
export const alreadyExists = (message: string) => new RuntimeError("alreadyExists", message);
export const unimplemented = (message: string) => new RuntimeError("unimplemented", message);
