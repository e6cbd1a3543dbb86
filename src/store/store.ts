/**
 * The revisioned store: opaque bytes under keys, one global revision, compare-and-set, watch from a revision.
 * It knows no Kubernetes. Backends: lmdb-store, memory-store, etcd-store; all pass store.contract.
 *
 * Keys are printable ASCII, so that every backend orders them alike. Revisions are integers that only grow;
 * an empty store is at revision 1 and each write takes the next one. Lost races are results, not exceptions;
 * everything else that can go wrong is a StoreError.
 */
export interface Store {
  /** Others may write too, through other instances: what was read a moment ago may be old. */
  readonly shared: boolean;

  /** A value that is written belongs to the store: nobody changes its bytes any more. */
  create(key: string, value: Buffer): Promise<CreateResult>;
  update(key: string, value: Buffer, options: { ifRevision: number }): Promise<UpdateResult>;
  delete(key: string, options: { ifRevision: number }): Promise<DeleteResult>;

  get(key: string, options?: { atRevision?: number }): Promise<Entry | undefined>;
  /** One page of the keys that start with `prefix`, in key order, all as of one revision. */
  list(prefix: string, options?: ListOptions): Promise<ListPage>;

  /**
   * Every change under `prefix` from `fromRevision` on, in revision order, without gaps. Ends when the signal
   * aborts; throws `compacted` when that past is gone and `slowWatcher` when the reader falls too far behind.
   */
  watch(prefix: string, options: WatchOptions): AsyncIterable<StoreEvent>;

  /** Forgets the past before `revision`: reads at it and watches from the one after it still work. */
  compact(revision: number): Promise<void>;
  currentRevision(): Promise<number>;
  /** Waits for writes under way, then ends every watch with `closed`. */
  close(): Promise<void>;
}

export interface Entry {
  readonly key: string;
  readonly value: Buffer;
  /** The revision that wrote this value. */
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
  /** Continues behind this key: the last one of the page before. */
  after?: string;
  /** The revision of the first page, so that later pages agree with it. */
  atRevision?: number;
}

export interface ListPage {
  readonly entries: readonly Entry[];
  /** The revision that all entries are as of. */
  readonly revision: number;
  /** Whether keys follow behind the last entry. */
  readonly more: boolean;
}

export type StoreEvent =
  /** `previous` is missing when the key was created. */
  | {
      readonly kind: "put";
      readonly entry: Entry;
      readonly revision: number;
      readonly previous: Entry | undefined;
    }
  | { readonly kind: "delete"; readonly key: string; readonly revision: number; readonly previous: Entry };

export interface WatchOptions {
  /** The first revision to deliver. One past the revision of a list continues that list. */
  fromRevision: number;
  signal: AbortSignal;
  /** How many events a reader may fall behind before its watch ends with `slowWatcher`. */
  maxBuffered?: number;
}

export const defaultMaxBuffered = 10_000;
export const maxKeyBytes = 1_024;
/** What a default etcd takes in one request, less room for the rest of the request. */
export const maxValueBytes = 1_536 * 1_024 - 4_096;
export const firstRevision = 1;

export function eventKey(event: StoreEvent): string {
  return event.kind === "put" ? event.entry.key : event.key;
}
