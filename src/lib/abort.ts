import type { Clock } from "./clock.ts";

/** Abort controller whose signal also aborts with a parent signal. */
export interface ChildAbort {
  readonly signal: AbortSignal;
  /** Aborts and detaches from the parent. Call it when the operation is done. */
  abort(reason?: unknown): void;
}

/** Unlike AbortSignal.any, it leaves no listener on a long-lived parent. */
export function createChildAbort(parent: AbortSignal): ChildAbort {
  const child = new AbortController();
  const follow = () => child.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  return {
    signal: child.signal,
    abort(reason) {
      parent.removeEventListener("abort", follow);
      child.abort(reason);
    },
  };
}

/** Resolves when the signal aborts. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Also aborts the task. */
  readonly signal?: AbortSignal;
}

/** Runs a task with a signal that aborts after a timeout. */
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
    () => limited.abort(new Error(`timed out after ${timeoutMs} ms`)),
    () => {},
  );
  try {
    return await task(limited.signal);
  } finally {
    done.abort();
    signal?.removeEventListener("abort", stop);
  }
}
