/** Kinds of store failures. Callers decide by the code, never by the message. */
export type StoreErrorCode =
  /** The requested revision was compacted. */
  | "compacted"
  /** The requested revision does not exist yet. */
  | "futureRevision"
  /** The reader of a watch fell too far behind. */
  | "slowWatcher"
  /** The key is empty, too long or not printable ASCII. */
  | "invalidKey"
  /** The value exceeds the limit of every backend. */
  | "valueTooLarge"
  /** The disk, or etcd's quota, is full; nothing was written. */
  | "noSpace"
  /** Another process has the data directory open. */
  | "inUse"
  /** The data on disk is damaged. */
  | "corrupt"
  /** The data on disk is not a Kindling store, or one of a newer version. */
  | "unrecognized"
  /** The backend cannot be reached or failed; a write may or may not have been applied. */
  | "unavailable"
  /** The store was closed, before the call or while it waited. */
  | "closed";

/**
 * StoreError is the only error that a store throws: a code, a message for people, and as `cause` the error of the backend,
 * if there is one. Lost compare-and-set races are results, not errors.
 */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}

/** Whether an error is a StoreError, of the given code if there is one. */
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
