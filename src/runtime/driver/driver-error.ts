import { messageOf } from "../../lib/message-of.ts";
/** Why a driver refused or failed; the CRI server turns the kind into a gRPC code. */
export type DriverErrorKind =
  | "notFound"
  | "alreadyExists"
  | "wrongState"
  | "invalid"
  | "unsupported"
  | "failed";

export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly kind: DriverErrorKind;

  constructor(kind: DriverErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

export function containerNotFound(containerId: string): DriverError {
  return new DriverError("notFound", `container ${containerId} does not exist`);
}

export function containerExists(containerId: string): DriverError {
  return new DriverError("alreadyExists", `container ${containerId} exists already`);
}

export function wrongState(containerId: string, is: string, wanted: string): DriverError {
  return new DriverError("wrongState", `container ${containerId} is ${is}, not ${wanted}`);
}

export function driverFailed(doing: string, cause: unknown): DriverError {
  const reason = messageOf(cause);
  return new DriverError("failed", `${doing}: ${reason}`, { cause });
}

/** Ids become file names and cgroup names. */
export function checkContainerId(containerId: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(containerId)) {
    throw new DriverError("invalid", `"${containerId}" cannot be a container's id`);
  }
}
