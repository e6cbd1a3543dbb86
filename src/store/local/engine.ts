import type { Entry, StoreEvent } from "../store.ts";
import type { EventLog } from "./event-log.ts";

/** What a local store needs of the place that keeps its data: the present, the log of the past, and atomic commits. */
export interface Engine extends EventLog {
  get(key: string): Entry | undefined;
  /** Entries of the present under `prefix`, behind `after` where given, in key order. */
  range(prefix: string, after: string | undefined): Iterable<Entry>;
  /**
   * Runs `write` in a transaction of its own and resolves once all of it is durable. When it rejects,
   * nothing of it happened.
   */
  commit(write: (transaction: Transaction) => void): Promise<void>;
  /** Drops events up to and including `revision`. */
  dropEvents(revision: number): Promise<void>;
  close(): Promise<void>;
}

export interface Transaction {
  get(key: string): Entry | undefined;
  /** Applies the event to the present and appends it to the log. */
  apply(event: StoreEvent): void;
}
