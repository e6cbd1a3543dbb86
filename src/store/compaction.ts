import type { Clock } from "../lib/clock.ts";
import type { Store } from "./store.ts";

/** Retention of history for watches and for paged lists. */
export interface CompactionPolicy {
  /** Interval of compactions. */
  everyMs: number;
  /** Time that revisions are kept. */
  keepMs: number;
  /** Maximum number of revisions. It takes precedence over keepMs, so that a busy cluster does not fill the disk. */
  keepRevisions: number;
}

const defaultCompactionPolicy: CompactionPolicy = {
  everyMs: 10_000,
  keepMs: 5 * 60_000,
  keepRevisions: 20_000,
};

/** Revision of the store at a point in time. */
export interface RevisionSample {
  readonly at: number;
  readonly revision: number;
}

export interface CompactionDecision {
  /** Undefined when there is nothing to compact. */
  compactTo: number | undefined;
  /** Samples that later decisions need. */
  samples: readonly RevisionSample[];
}

/** Decides what to compact. `samples` are ordered by time; the last one is current. */
export function decideCompaction(
  policy: CompactionPolicy,
  samples: readonly RevisionSample[],
): CompactionDecision {
  const latest = samples.at(-1);
  if (!latest) return { compactTo: undefined, samples };
  const old = samples.findLast((sample) => sample.at <= latest.at - policy.keepMs);
  const compactTo = Math.max(old?.revision ?? 0, latest.revision - policy.keepRevisions);
  return {
    compactTo: compactTo > 0 ? compactTo : undefined,
    samples: samples.filter((sample) => sample.revision > compactTo),
  };
}

export interface CompactionOptions {
  policy?: CompactionPolicy;
  clock: Clock;
  signal: AbortSignal;
  /** Called when a compaction failed. It is retried with the next one. */
  onFailure?: (error: unknown) => void;
}

/** Compacts periodically until the signal aborts. Any number of processes may compact one store. */
export async function runCompaction(store: Store, options: CompactionOptions): Promise<void> {
  const { policy = defaultCompactionPolicy, clock, signal, onFailure } = options;
  let samples: readonly RevisionSample[] = [];
  while (!signal.aborted) {
    try {
      samples = [...samples, { at: clock.now(), revision: await store.currentRevision() }];
      const decision = decideCompaction(policy, samples);
      if (decision.compactTo !== undefined) await store.compact(decision.compactTo);
      samples = decision.samples;
    } catch (error) {
      onFailure?.(error);
    }
    await clock.sleep(policy.everyMs, signal).catch(() => {});
  }
}
