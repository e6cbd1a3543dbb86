import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { DiskUsage } from "../images/images.ts";

/** CPU usage of containers, computed from two readings of their CPU time. */
export interface CpuRates {
  /** Returns billionths of a core since the last reading; undefined for the first reading. */
  read(containerId: string, reading: CpuReading): number | undefined;
}

interface CpuReading {
  readonly cpuNanos: number;
  /** Time of the reading in milliseconds. */
  readonly at: number;
}

/** Minimum time between readings; within it the previous rate is returned. */
const minIntervalMs = 1_000;

export function createCpuRates({ known }: { known(id: string): boolean }): CpuRates {
  const last = new Map<string, CpuReading & { nanoCores: number | undefined }>();
  return {
    read(containerId, { cpuNanos, at }) {
      const before = last.get(containerId);
      if (before && at - before.at < minIntervalMs) return before.nanoCores;
      const nanoCores = before && (1_000 * Math.max(0, cpuNanos - before.cpuNanos)) / (at - before.at);
      if (!before) for (const id of last.keys()) if (!known(id)) last.delete(id);
      last.set(containerId, { cpuNanos, at, nanoCores });
      return nanoCores;
    },
  };
}

/**
 * Disk usage of the files that containers wrote to their root file systems. Measuring requires a walk over the files.
 */
export interface LayerUsage {
  /** Returns the latest measurement; undefined until the first walk ends. */
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

/** Minimum pause between walks; the interval at which kubelets read the usage. */
const minPauseMs = 10_000;
/** Pause per duration of a walk, so that walks over millions of files take at most a tenth of the time. */
const pausePerWalk = 9;
/** Maximum time that a call waits for a walk. */
const waitTimeoutMs = 200;

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
      entry.nextWalkAt = at + Math.max(minPauseMs, pausePerWalk * (at - began));
    });
    entry.walk = undefined;
  }

  return {
    async read(containerId) {
      const entry = entryOf(containerId);
      if (!entry.walk && clock.now() >= entry.nextWalkAt) entry.walk = walk(containerId, entry);
      if (entry.walk) await waitBriefly(entry.walk);
      return entry.measured;
    },
  };

  async function waitBriefly(work: Promise<void>): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, clock.sleep(waitTimeoutMs, done.signal).catch(() => {})]);
    done.abort();
  }
}
