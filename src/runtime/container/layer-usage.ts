import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { DiskUsage } from "../image/disk-usage.ts";

/** What containers have written to their root file systems. Knowing it takes a walk over their files. */
export interface LayerUsage {
  /** The newest that is known; undefined while the first walk is still on its way. */
  read(containerId: string): Promise<MeasuredUsage | undefined>;
}

export interface MeasuredUsage extends DiskUsage {
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface Entry {
  measured: MeasuredUsage | undefined;
  walk: Promise<void> | undefined;
  nextWalkAt: number;
}

/** As often as kubelets look. */
const leastPauseMs = 10_000;
/** A container with a million files is looked at less often: walking takes a tenth of the time at most. */
const pausePerWalk = 9;
/** Nobody's stats wait longer for somebody's files. */
const patienceMs = 200;

export function createLayerUsage(options: {
  clock: Clock;
  measure: (containerId: string) => Promise<DiskUsage>;
  known: (containerId: string) => boolean;
}): LayerUsage {
  const { clock, measure, known } = options;
  const entries = new Map<string, Entry>();
  const oneAtATime = createLimiter(1);

  function entryOf(containerId: string): Entry {
    const existing = entries.get(containerId);
    if (existing) return existing;
    for (const id of entries.keys()) if (!known(id)) entries.delete(id);
    const entry: Entry = { measured: undefined, walk: undefined, nextWalkAt: clock.now() };
    entries.set(containerId, entry);
    return entry;
  }

  async function walk(containerId: string, entry: Entry): Promise<void> {
    await oneAtATime(async () => {
      const began = clock.now();
      const usage = await measure(containerId).catch(() => undefined);
      const at = clock.now();
      if (usage) entry.measured = { ...usage, at };
      entry.nextWalkAt = at + Math.max(leastPauseMs, pausePerWalk * (at - began));
    });
    entry.walk = undefined;
  }

  return {
    async read(containerId) {
      const entry = entryOf(containerId);
      if (!entry.walk && clock.now() >= entry.nextWalkAt) entry.walk = walk(containerId, entry);
      if (entry.walk) await withPatience(entry.walk);
      return entry.measured;
    },
  };

  async function withPatience(work: Promise<void>): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, clock.sleep(patienceMs, done.signal).catch(() => {})]);
    done.abort();
  }
}
