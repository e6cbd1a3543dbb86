/** How busy each container is, from two readings of the time it used. */
export interface CpuRates {
  /** Billionths of a core since the last reading; undefined with the first. */
  read(containerId: string, reading: CpuReading): number | undefined;
}

interface CpuReading {
  readonly cpuNanos: number;
  /** Milliseconds. */
  readonly at: number;
}

/** Readings closer together than this say little: the rate before is given again. */
const leastMs = 1_000;

export function createCpuRates({ known }: { known(id: string): boolean }): CpuRates {
  const last = new Map<string, CpuReading & { nanoCores: number | undefined }>();
  return {
    read(containerId, { cpuNanos, at }) {
      const before = last.get(containerId);
      if (before && at - before.at < leastMs) return before.nanoCores;
      const nanoCores = before && (1_000 * Math.max(0, cpuNanos - before.cpuNanos)) / (at - before.at);
      if (!before) for (const id of last.keys()) if (!known(id)) last.delete(id);
      last.set(containerId, { cpuNanos, at, nanoCores });
      return nanoCores;
    },
  };
}
