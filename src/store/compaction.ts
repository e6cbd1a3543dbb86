import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "./store.ts";

export interface CompactionPolicy {
  /** The past that watches and lists can still ask for. */
  keepMs: number;
  /** And how much of it at the most. */
  keepRevisions: number;
  sampleEveryMs: number;
}

/** Five minutes, as with upstream: longer than any client takes to come back for more. */
export const defaultCompaction: CompactionPolicy = {
  keepMs: 300_000,
  keepRevisions: 200_000,
  sampleEveryMs: 30_000,
};

/** Which revision was the current one at what time. */
export interface RevisionSample {
  readonly at: number;
  readonly revision: number;
}

/** The revision before which everything may be forgotten, by age and by count; 0 when nothing may. */
export function decideCompaction(
  samples: readonly RevisionSample[],
  now: number,
  policy: CompactionPolicy,
): number {
  const current = samples.at(-1)?.revision ?? 0;
  const old = samples.findLast((sample) => now - sample.at >= policy.keepMs);
  return Math.max(0, old?.revision ?? 0, current - policy.keepRevisions);
}

/** Compacts the store every now and then. Several processes may do so on one store: the later one finds nothing to do. */
export async function runCompaction(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
  policy?: CompactionPolicy;
}): Promise<void> {
  const { store, clock, logger, signal, policy = defaultCompaction } = deps;
  let samples: RevisionSample[] = [];
  let compactedTo = 0;
  while (!signal.aborted) {
    try {
      samples.push({ at: clock.now(), revision: await store.currentRevision() });
      const target = decideCompaction(samples, clock.now(), policy);
      if (target > compactedTo) {
        await store.compact(target);
        compactedTo = target;
        samples = samples.filter((sample) => sample.revision >= target);
      }
    } catch (error) {
      if (!signal.aborted) logger.warn("the store was not compacted; trying again later", { error });
    }
    await clock.sleep(policy.sampleEveryMs, signal).catch(() => {});
  }
}
