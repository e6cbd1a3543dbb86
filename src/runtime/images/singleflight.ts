/** Deduplicates concurrent work by key. The work is cancelled when its last caller leaves. */
export interface Singleflight<State, Result> {
  join(key: string, work: Work<State, Result>): Joined<State, Result>;
  size(): number;
  /** Cancels all work and waits until it has ended. */
  close(reason: unknown): Promise<void>;
}

interface Work<State, Result> {
  /** Signal of this caller. The work's own signal aborts when those of all callers have. */
  readonly signal: AbortSignal;
  readonly begin: (signal: AbortSignal) => { readonly state: State; readonly result: Promise<Result> };
}

export interface Joined<State, Result> {
  readonly state: State;
  readonly result: Promise<Result>;
  /** Whether the work was already running when this caller joined. */
  readonly joined: boolean;
}

interface Running<State, Result> extends Omit<Joined<State, Result>, "joined"> {
  readonly abort: AbortController;
  callers: number;
}

export function createSingleflight<State, Result>(): Singleflight<State, Result> {
  const running = new Map<string, Running<State, Result>>();
  /** Running work, including cancelled work that has not ended yet. */
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
        job.abort.abort(signal.reason ?? new Error("no callers are left"));
      }
    }
  }

  return {
    join(key, work) {
      const known = running.get(key);
      const job = known ?? begin(key, work);
      const result = follow(key, job, work.signal);
      result.catch(() => {});
      return { state: job.state, result, joined: known !== undefined };
    },
    size: () => running.size,
    async close(reason) {
      for (const { abort } of running.values()) abort.abort(reason);
      await Promise.all(unsettled);
    },
  };
}
