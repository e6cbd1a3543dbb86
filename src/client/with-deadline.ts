import type { Clock } from "../lib/clock.ts";

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Aborts the task too. */
  readonly signal?: AbortSignal;
}

/** Runs a task whose signal aborts when its time is over. */
export async function withDeadline<T>(
  { clock, timeoutMs, signal }: DeadlineOptions,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = new AbortController();
  const done = new AbortController();
  const stop = () => limited.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  clock.sleep(timeoutMs, done.signal).then(
    () => limited.abort(new Error(`not done within ${timeoutMs} ms`)),
    () => {},
  );
  try {
    return await task(limited.signal);
  } finally {
    done.abort();
    signal?.removeEventListener("abort", stop);
  }
}
