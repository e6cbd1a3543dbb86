import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { Store } from "../../store/store.ts";
import type { StartSignal } from "./start-signal.ts";

export interface JournalDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told once what it rests on is on disk. */
  readonly tell: (signal: StartSignal) => void;
  /** A pod is gone, its record too, and all that was to be told of it has been told. */
  readonly onForgotten: (uid: string) => void;
}

/**
 * Keeps a record for each pod and holds signals back until the record that says they were told is on disk. So nothing
 * is ever told twice; what was on its way when the process was killed is not told at all.
 */
export interface StartJournal {
  /** What the last run has left. Before all else. */
  load(): Promise<LoadedRecords>;
  /** `record` undefined: the pod is gone, and its record goes. The newest one counts. */
  write(uid: string, record: string | undefined, signals: readonly StartSignal[]): void;
  /** Until the signal aborts and what there is has been written, or could not be. */
  run(signal: AbortSignal): Promise<void>;
}

interface LoadedRecords {
  /** When a monitor with this store looked for the first time. */
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
/** Signals that may wait for a disk that does not take anything; later ones are lost. */
const mostWaiting = 50_000;
const retryMs = 2_000;
/** What comes within this time is one write to disk: fewer of them cost less than the wait is worth. */
const gatherMs = 250;

export function createStartJournal(deps: JournalDeps): StartJournal {
  const { store, clock, logger, tell, onForgotten } = deps;
  const revisions = new Map<string, number>();
  let pending = new Map<string, Pending>();
  let waiting = 0;
  let lost = 0;
  const wakeUp = createWakeUp();

  async function loadSince(): Promise<number> {
    // Whole seconds, as the times it is compared with.
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
    if (waiting + signals.length > mostWaiting) lost += signals.length;
    else {
      entry.signals.push(...signals);
      waiting += signals.length;
    }
    wakeUp.wake();
  }

  /** One write; the revision that it leaves, where it leaves one. */
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
    // A write that failed may have come through after all: the next try goes on from what is there.
    if (result.current) revisions.set(uid, result.current.revision);
    else revisions.delete(uid);
    throw new Error(`the record of pod ${uid} is not what it was left as`);
  }

  /** Takes all that waits in one go: the store writes it as one group. Answers with the first failure. */
  async function flush(): Promise<unknown> {
    const batch = pending;
    pending = new Map();
    let failure: unknown;
    const done = [...batch].map(async ([uid, entry]) => {
      try {
        await put(uid, entry.record);
      } catch (error) {
        failure ??= error;
        giveBack(uid, entry);
        return;
      }
      waiting -= entry.signals.length;
      for (const signal of entry.signals) tell(signal);
      if (entry.record === undefined) onForgotten(uid);
    });
    await Promise.all(done);
    return failure;
  }

  function giveBack(uid: string, { record, signals }: Pending): void {
    const newer = pending.get(uid);
    if (newer) newer.signals.unshift(...signals);
    else pending.set(uid, { record, signals });
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = wakeUp.next();
      const failure = pending.size > 0 ? await flush() : undefined;
      if (failure !== undefined) {
        logger.error("cannot store what was measured, trying again", { error: failure, waiting, lost });
        await clock.sleep(retryMs, signal).catch(() => {});
        continue;
      }
      if (pending.size === 0) await wait.orAt(Number.POSITIVE_INFINITY, { clock, signal }).catch(() => {});
      await clock.sleep(gatherMs, signal).catch(() => {});
    }
    const failure = await flush();
    if (failure !== undefined) {
      logger.error("could not store what was measured last; it is not told", { error: failure, waiting });
    }
  }

  return { load, write, run };
}
