import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { Store } from "../../store/store.ts";
import type { StartSignal } from "./start-signal.ts";

export interface JournalDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each signal once its record is on disk. */
  readonly emit: (signal: StartSignal) => void;
  /** Called after the last signal of a deleted pod, when its record is removed. */
  readonly onRemoved: (uid: string) => void;
}

/**
 * Stores a record for each pod and emits signals only after the record that contains them is on disk. Signals are
 * therefore emitted at most once; those that are pending when the process is killed are lost.
 */
export interface StartJournal {
  /** Loads the records of the last run. Must be called first. */
  load(): Promise<LoadedRecords>;
  /** Replaces the record of a pod. `undefined` removes it. */
  write(uid: string, record: string | undefined, signals: readonly StartSignal[]): void;
  /** Writes records until the signal aborts, then makes a last attempt for the pending ones. */
  run(signal: AbortSignal): Promise<void>;
}

interface LoadedRecords {
  /** First start of a monitor with this store. */
  readonly sinceMs: number;
  /** By pod uid. */
  readonly records: ReadonlyMap<string, string>;
}

interface Pending {
  record: string | undefined;
  signals: StartSignal[];
}

const prefix = "/starts/";
const sinceKey = "/monitor/since";
const pageSize = 5_000;
/** Maximum number of signals that wait for the disk; further ones are lost. */
const maxWaitingSignals = 50_000;
const retryMs = 2_000;
/** Delay that groups records into one write. */
const batchDelayMs = 250;

export function createStartJournal(deps: JournalDeps): StartJournal {
  const { store, clock, logger, emit, onRemoved } = deps;
  const revisions = new Map<string, number>();
  let pending = new Map<string, Pending>();
  let waiting = 0;
  let lost = 0;
  const wakeUp = createWakeUp();

  async function loadSince(): Promise<number> {
    // Truncated to whole seconds like the times that it is compared with.
    const now = Math.floor(clock.now() / 1_000) * 1_000;
    const result = await store.create(sinceKey, Buffer.from(String(now)));
    const stored = result.kind === "exists" ? Number(result.current.value.toString()) : now;
    return Number.isFinite(stored) ? stored : now;
  }

  async function load(): Promise<LoadedRecords> {
    const records = new Map<string, string>();
    let after: string | undefined;
    for (;;) {
      const page = await store.list(prefix, { limit: pageSize, after });
      for (const { key, value, revision } of page.entries) {
        const uid = decodeURIComponent(key.slice(prefix.length));
        revisions.set(uid, revision);
        records.set(uid, value.toString());
      }
      after = page.entries.at(-1)?.key;
      if (!page.more) break;
    }
    return { sinceMs: await loadSince(), records };
  }

  function write(uid: string, record: string | undefined, signals: readonly StartSignal[]): void {
    const entry = pending.get(uid) ?? { record, signals: [] };
    entry.record = record;
    pending.set(uid, entry);
    if (waiting + signals.length > maxWaitingSignals) lost += signals.length;
    else {
      entry.signals.push(...signals);
      waiting += signals.length;
    }
    wakeUp.wake();
  }

  /** Writes one record and remembers its revision. */
  async function put(uid: string, record: string | undefined): Promise<void> {
    const key = prefix + encodeURIComponent(uid);
    const ifRevision = revisions.get(uid);
    if (record === undefined) {
      if (ifRevision !== undefined) await store.delete(key, { ifRevision });
      revisions.delete(uid);
      return;
    }
    const value = Buffer.from(record);
    const result =
      ifRevision === undefined
        ? await store.create(key, value)
        : await store.update(key, value, { ifRevision });
    if (result.kind === "created" || result.kind === "updated") {
      revisions.set(uid, result.revision);
      return;
    }
    // A failed write may have succeeded after all, so the next attempt continues from the stored revision.
    if (result.current) revisions.set(uid, result.current.revision);
    else revisions.delete(uid);
    throw new Error(`the record of pod ${uid} was changed by another writer`);
  }

  /** Writes all pending records at once, so that the store groups them. Returns the first error. */
  async function flush(): Promise<unknown> {
    const batch = pending;
    pending = new Map();
    let failure: unknown;
    const done = [...batch].map(async ([uid, entry]) => {
      try {
        await put(uid, entry.record);
      } catch (error) {
        failure ??= error;
        requeue(uid, entry);
        return;
      }
      waiting -= entry.signals.length;
      for (const signal of entry.signals) emit(signal);
      if (entry.record === undefined) onRemoved(uid);
    });
    await Promise.all(done);
    return failure;
  }

  function requeue(uid: string, { record, signals }: Pending): void {
    const newer = pending.get(uid);
    if (newer) newer.signals.unshift(...signals);
    else pending.set(uid, { record, signals });
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = wakeUp.next();
      const failure = pending.size > 0 ? await flush() : undefined;
      if (failure !== undefined) {
        logger.error("storing measurements failed; retrying", { error: failure, waiting, lost });
        await clock.sleep(retryMs, signal).catch(() => {});
        continue;
      }
      if (pending.size === 0) await wait.orAt(Number.POSITIVE_INFINITY, { clock, signal }).catch(() => {});
      await clock.sleep(batchDelayMs, signal).catch(() => {});
    }
    const failure = await flush();
    if (failure !== undefined) {
      logger.error("storing the last measurements failed; they are lost", { error: failure, waiting });
    }
  }

  return { load, write, run };
}
