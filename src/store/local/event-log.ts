import type { Entry, StoreEvent } from "../store.ts";
import { eventKey } from "../store.ts";

/** The kept past of a local store: every event after `compactedRevision`, up to `lastRevision`. */
export interface EventLog {
  lastRevision(): number;
  compactedRevision(): number;
  /** Events from `fromRevision` on, oldest first, at most `limit` of them. */
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
 * What has to change in the present to get the past: for each key under `prefix` that was written since
 * `revision`, the entry it had then, or undefined where it had none.
 */
export function undoTo(log: EventLog, revision: number, prefix: string): Map<string, Entry | undefined> {
  const undo = new Map<string, Entry | undefined>();
  for (const event of eventsFrom(log, revision + 1)) {
    const key = eventKey(event);
    // The first change after the revision knows what was there before; later ones do not matter.
    if (key.startsWith(prefix) && !undo.has(key)) undo.set(key, event.previous);
  }
  return undo;
}
