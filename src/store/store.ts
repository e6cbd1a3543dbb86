/**
 * Revisioned key-value store: opaque bytes under keys, one global revision, compare-and-set, watch from a revision. It is
 * independent of Kubernetes. The backends lmdb-store, memory-store and etcd-store pass the suite in store.contract.
 *
 * Keys are printable ASCII, so that all backends order them equally. Revisions are increasing integers; an empty store is
 * at revision 1 and each write takes the next one. Conflicts are results, not exceptions; all failures are StoreErrors.
 */
export interface Store {
  /** Whether other instances can write to the same data, so that reads may be outdated. */
  readonly shared: boolean;

  /** Buffers passed to the store must not be modified afterwards. */
  create(key: string, value: Buffer): Promise<CreateResult>;
  update(key: string, value: Buffer, options: { ifRevision: number }): Promise<UpdateResult>;
  delete(key: string, options: { ifRevision: number }): Promise<DeleteResult>;

  get(key: string, options?: { atRevision?: number }): Promise<Entry | undefined>;
  /** Lists one page of the keys that start with `prefix`, in key order, at one revision. */
  list(prefix: string, options?: ListOptions): Promise<ListPage>;

  /**
   * Streams all changes under `prefix` from `fromRevision` on, in revision order, without gaps. Ends when the signal aborts;
   * throws `compacted` when the revision is no longer available and `slowWatcher` when the reader falls too far behind.
   */
  watch(prefix: string, options: WatchOptions): AsyncIterable<StoreEvent>;

  /** Deletes the history before `revision`. Reads at `revision` and watches from the next one still work. */
  compact(revision: number): Promise<void>;
  currentRevision(): Promise<number>;
  /** Waits for pending writes, then ends all watches with `closed`. */
  close(): Promise<void>;
}

export interface Entry {
  readonly key: string;
  readonly value: Buffer;
  /** Revision that wrote this value. */
  readonly revision: number;
}

export type CreateResult =
  | { readonly kind: "created"; readonly revision: number }
  | { readonly kind: "exists"; readonly current: Entry };

export type UpdateResult =
  | { readonly kind: "updated"; readonly revision: number; readonly previous: Entry }
  | { readonly kind: "conflict"; readonly current: Entry | undefined };

export type DeleteResult =
  | { readonly kind: "deleted"; readonly revision: number; readonly previous: Entry }
  | { readonly kind: "conflict"; readonly current: Entry | undefined };

interface ListOptions {
  limit?: number;
  /** Continues after this key, the last one of the previous page. */
  after?: string;
  /** Revision of the first page, for consistent pages. */
  atRevision?: number;
}

export interface ListPage {
  readonly entries: readonly Entry[];
  /** Revision of all entries. */
  readonly revision: number;
  /** Whether there are keys after the last entry. */
  readonly more: boolean;
}

export type StoreEvent =
  /** `previous` is undefined when the key was created. */
  | {
      readonly kind: "put";
      readonly entry: Entry;
      readonly revision: number;
      readonly previous: Entry | undefined;
    }
  | { readonly kind: "delete"; readonly key: string; readonly revision: number; readonly previous: Entry };

export interface WatchOptions {
  /** First revision to deliver. To continue a list, use its revision plus one. */
  fromRevision: number;
  signal: AbortSignal;
  /** Number of events that a reader may fall behind before its watch ends with `slowWatcher`. */
  maxBuffered?: number;
}

export const defaultMaxBuffered = 10_000;
const maxKeyBytes = 1_024;
/** Default request limit of etcd, minus space for the rest of the request. */
export const maxValueBytes = 1_536 * 1_024 - 4_096;
export const firstRevision = 1;

export function eventKey(event: StoreEvent): string {
  return event.kind === "put" ? event.entry.key : event.key;
}

const printableAscii = /^[\x21-\x7e]+$/;

/** Reports whether the store can have an entry with this key. */
export function isValidKey(key: string): boolean {
  return key.length <= maxKeyBytes && printableAscii.test(key);
}

export function checkKey(key: string): void {
  if (!isValidKey(key)) {
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
      `the value of ${key} has ${value.length} bytes; the maximum is ${maxValueBytes}`,
    );
  }
}

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
