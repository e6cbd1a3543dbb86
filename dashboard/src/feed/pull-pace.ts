/** Progress at a time of the server's clock. */
export interface Sample {
  readonly atMs: number;
  readonly offset: number;
}

export type Pace =
  | { readonly kind: "unknown" }
  | { readonly kind: "moving"; readonly bytesPerSecond: number; readonly secondsLeft: number | undefined }
  | { readonly kind: "still"; readonly forMs: number }
  | { readonly kind: "done" };

const windowMs = 8_000;
const closestMs = 250;
const stillAfterMs = 5_000;

/** Adds a sample. Keeps a limited number of samples of the last seconds. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (!last) return [sample];
  if (sample.offset === last.offset) return samples;
  // The pull restarted, so earlier samples are dropped.
  if (sample.offset < last.offset) return [sample];
  const before = samples.at(-2);
  const kept = before && last.atMs - before.atMs < closestMs ? samples.slice(0, -1) : samples;
  const firstInside = kept.findIndex(({ atMs }) => atMs >= sample.atMs - windowMs);
  // One sample before the window is kept, so that slow pulls have a rate.
  return [...kept.slice(firstInside < 0 ? -1 : Math.max(0, firstInside - 1)), sample];
}

export function paceOf(
  samples: readonly Sample[],
  { offset, total, now }: { readonly offset: number; readonly total: number; readonly now: number },
): Pace {
  if (total > 0 && offset >= total) return { kind: "done" };
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last) return { kind: "unknown" };
  const idleMs = Math.max(0, now - last.atMs);
  if (idleMs >= stillAfterMs) return { kind: "still", forMs: idleMs };
  const elapsedMs = last.atMs - first.atMs;
  const bytesPerSecond = ((last.offset - first.offset) / elapsedMs) * 1_000;
  if (elapsedMs <= 0 || bytesPerSecond <= 0) return { kind: "unknown" };
  const secondsLeft = total > 0 ? Math.max(0, (total - offset) / bytesPerSecond - idleMs / 1_000) : undefined;
  return { kind: "moving", bytesPerSecond, secondsLeft };
}
