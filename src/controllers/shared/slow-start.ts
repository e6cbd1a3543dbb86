/** Maximum number of concurrent requests. */
const maxBatch = 500;

/** Processes items in batches of 1, 2, 4, …, so that a persistent failure does not cause thousands of requests. */
export async function slowStart<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0, size = 1; from < items.length; from += size, size = Math.min(2 * size, maxBatch)) {
    const results = await Promise.allSettled(items.slice(from, from + size).map(run));
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }
}
