/** As many requests as may be under way at once. */
const maxBatch = 500;

/** One, then twice as many each time: when the first of them fails, thousands need not fail the same way. */
export async function slowStart<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0, size = 1; from < items.length; from += size, size = Math.min(2 * size, maxBatch)) {
    const results = await Promise.allSettled(items.slice(from, from + size).map(run));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }
}
