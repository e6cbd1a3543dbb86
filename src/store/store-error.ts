import { maxKeyBytes, maxValueBytes } from "./store.ts";

export type StoreErrorCode =
  /** The revision asked for was compacted away. */
  | "compacted"
  /** The revision asked for has not happened yet. */
  | "futureRevision"
  /** The reader of a watch fell too far behind. */
  | "slowWatcher"
  | "invalidKey"
  | "valueTooLarge"
  /** The disk, or etcd's quota, is full; nothing was written. */
  | "noSpace"
  /** Another process has the data directory open. */
  | "inUse"
  /** The data on disk is damaged. */
  | "corrupt"
  /** The data on disk is not a Kindling store, or a newer one. */
  | "foreign"
  /** The backend cannot be reached or failed; a write may or may not have happened. */
  | "unavailable"
  | "closed";

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

export function isStoreError(error: unknown, code?: StoreErrorCode): error is StoreError {
  return error instanceof StoreError && (code === undefined || error.code === code);
}

export function compacted(revision: number, compactedRevision: number): StoreError {
  return new StoreError(
    "compacted",
    `revision ${revision} was compacted; the oldest kept is ${compactedRevision}`,
  );
}

export function futureRevision(revision: number, current: number): StoreError {
  return new StoreError("futureRevision", `revision ${revision} is ahead of the current revision ${current}`);
}

export function slowWatcher(prefix: string, maxBuffered: number): StoreError {
  return new StoreError(
    "slowWatcher",
    `the watch of ${prefix} fell more than ${maxBuffered} events behind and was ended`,
  );
}

export function storeClosed(): StoreError {
  return new StoreError("closed", "the store is closed");
}

const printableAscii = /^[\x21-\x7e]+$/;

/** No entry is under any other. */
export function canBeKey(key: string): boolean {
  return key.length <= maxKeyBytes && printableAscii.test(key);
}

export function checkKey(key: string): void {
  if (!canBeKey(key)) {
    const shown = JSON.stringify(key.length > 80 ? `${key.slice(0, 80)}…` : key);
    throw new StoreError(
      "invalidKey",
      `key ${shown} must be 1 to ${maxKeyBytes} characters of printable ASCII without spaces`,
    );
  }
}

export function checkValue(key: string, value: Buffer): void {
  if (value.length > maxValueBytes) {
    throw new StoreError(
      "valueTooLarge",
      `the value of ${key} has ${value.length} bytes; at most ${maxValueBytes} fit`,
    );
  }
}
