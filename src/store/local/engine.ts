import { type Entry, eventKey, type StoreEvent } from "../store.ts";

/** Storage of a local store: current entries, event log and atomic commits. */
export interface Engine extends EventLog {
  get(key: string): Entry | undefined;
  /** Current entries under `prefix`, after `after` if given, in key order. */
  range(prefix: string, after: string | undefined): Iterable<Entry>;
  /** Runs `write` in a transaction and resolves when it is durable. When it rejects, nothing was applied. */
  commit(write: (transaction: Transaction) => void): Promise<void>;
  /** Drops events up to and including `revision`. */
  dropEvents(revision: number): Promise<void>;
  close(): Promise<void>;
}

export interface Transaction {
  get(key: string): Entry | undefined;
  /** Applies the event to the current entries and appends it to the log. */
  apply(event: StoreEvent): void;
}

/** History of a local store: all events after `compactedRevision`, up to `lastRevision`. */
export interface EventLog {
  lastRevision(): number;
  compactedRevision(): number;
  /** Reads up to `limit` events from `fromRevision` on, oldest first. */
  read(fromRevision: number, limit: number): readonly StoreEvent[];
}

const chunkSize = 1_000;

export function* eventsFrom(log: EventLog, fromRevision: number): Generator<StoreEvent> {
  let next = fromRevision;
  for (;;) {
    const chunk = log.read(next, chunkSize);
    const last = chunk.at(-1);
    if (!last) return;
    yield* chunk;
    next = last.revision + 1;
  }
}

/**
 * Changes that turn the current entries into those of a past revision: for each key under `prefix` that was written
 * since, its entry at that revision, or undefined if it did not exist.
 */
export function changesToRevision(
  log: EventLog,
  revision: number,
  prefix: string,
): Map<string, Entry | undefined> {
  const undo = new Map<string, Entry | undefined>();
  for (const event of eventsFrom(log, revision + 1)) {
    const key = eventKey(event);
    // Only the first change after the revision has the entry of that revision.
    if (key.startsWith(prefix) && !undo.has(key)) undo.set(key, event.previous);
  }
  return undo;
}
