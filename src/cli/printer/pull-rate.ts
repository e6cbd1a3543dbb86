/** How fast a counter has grown lately. Pure: the caller keeps the samples. */
export interface Sample {
  readonly at: number;
  readonly bytes: number;
}

const windowMs = 5_000;

export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples, sample].filter(({ at }) => sample.at - at <= windowMs);
}

/** Undefined until there are two moments to compare. */
export function bytesPerSecond(samples: readonly Sample[]): number | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last || last.at <= first.at) return undefined;
  return (1_000 * (last.bytes - first.bytes)) / (last.at - first.at);
}
