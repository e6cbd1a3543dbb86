import type { Clock } from "./clock.ts";

/** Abort controller whose signal also aborts with a parent signal. */
export interface ChildAbort {
  readonly signal: AbortSignal;
  /** Aborts and detaches from the parent. Call it when the operation is done. */
  abort(reason?: unknown): void;
  /** Detaches from the parent without aborting. */
  detach(): void;
}

/** Creates an abort controller below a parent, if there is one. Unlike AbortSignal.any, it leaves no listener on the parent. */
export function createChildAbort(parent: AbortSignal | undefined): ChildAbort {
  const child = new AbortController();
  const follow = () => child.abort(parent?.reason);
  if (parent?.aborted) follow();
  else parent?.addEventListener("abort", follow, { once: true });
  const detach = () => parent?.removeEventListener("abort", follow);
  return {
    signal: child.signal,
    abort(reason) {
      detach();
      child.abort(reason);
    },
    detach,
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

/** Runs a task with a signal that aborts with an error after the timeout. Leaves no timer and no listener behind. */
export async function withDeadline<T>(
  { clock, timeoutMs, signal }: DeadlineOptions,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = createChildAbort(signal);
  const done = new AbortController();
  clock.sleep(timeoutMs, done.signal).then(
    () => limited.abort(new Error(`timed out after ${timeoutMs} ms`)),
    () => {},
  );
  try {
    return await task(limited.signal);
  } finally {
    done.abort();
    limited.detach();
  }
}
