/** Work that several callers may want at once: done once, given up when the last of them goes. */
export interface SharedWork<State, Result> {
  join(key: string, work: Work<State, Result>): Joined<State, Result>;
  size(): number;
  /** Ends all of it and waits until it has ended. */
  close(reason: unknown): Promise<void>;
}

interface Work<State, Result> {
  /** This caller's; the work's own signal aborts when all callers' have. */
  readonly signal: AbortSignal;
  readonly begin: (signal: AbortSignal) => { readonly state: State; readonly result: Promise<Result> };
}

interface Joined<State, Result> {
  readonly state: State;
  readonly result: Promise<Result>;
}

interface Running<State, Result> extends Joined<State, Result> {
  readonly abort: AbortController;
  callers: number;
}

export function createSharedWork<State, Result>(): SharedWork<State, Result> {
  const running = new Map<string, Running<State, Result>>();
  /** Also what was given up and is still on its way out. */
  const unsettled = new Set<Promise<unknown>>();

  function begin(key: string, work: Work<State, Result>): Running<State, Result> {
    const abort = new AbortController();
    const { state, result } = work.begin(abort.signal);
    const job: Running<State, Result> = { state, result, abort, callers: 0 };
    running.set(key, job);
    const settled = result.then(
      () => {},
      () => {},
    );
    unsettled.add(settled);
    void settled.then(() => {
      unsettled.delete(settled);
      if (running.get(key) === job) running.delete(key);
    });
    return job;
  }

  async function follow(key: string, job: Running<State, Result>, signal: AbortSignal): Promise<Result> {
    job.callers++;
    const left = new Promise<never>((_resolve, reject) => {
      const onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
    left.catch(() => {});
    try {
      return await Promise.race([job.result, left]);
    } finally {
      if (--job.callers === 0 && running.get(key) === job) {
        running.delete(key);
        job.abort.abort(signal.reason ?? new Error("nobody waits for it any more"));
      }
    }
  }

  return {
    join(key, work) {
      const job = running.get(key) ?? begin(key, work);
      const result = follow(key, job, work.signal);
      result.catch(() => {});
      return { state: job.state, result };
    },
    size: () => running.size,
    async close(reason) {
      for (const { abort } of running.values()) abort.abort(reason);
      await Promise.all(unsettled);
    },
  };
}
