import type { Clock } from "../lib/clock.ts";
import type { Store } from "./store.ts";

/** How much of the past a store keeps for watches and for lists that go on from an earlier page. */
export interface CompactionPolicy {
  everyMs: number;
  /** The past is kept this long, */
  keepMs: number;
  /** but never more revisions than these: a busy cluster would fill the disk, and its past would be slow to read. */
  keepRevisions: number;
}

const defaultCompactionPolicy: CompactionPolicy = {
  everyMs: 10_000,
  keepMs: 5 * 60_000,
  keepRevisions: 20_000,
};

/** At that time the store was at that revision. */
export interface RevisionSample {
  readonly at: number;
  readonly revision: number;
}

export interface CompactionDecision {
  /** Undefined when nothing is old enough. */
  compactTo: number | undefined;
  /** The samples that later decisions still need. */
  samples: readonly RevisionSample[];
}

/** `samples` are in the order of time, the last one is of now. */
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
  /** A compaction that failed; the next one makes up for it. */
  onFailure?: (error: unknown) => void;
}

/** Compacts again and again until the signal aborts. Any number of processes may do it to one store. */
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
