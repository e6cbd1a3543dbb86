// Clauses: 3542-13, 3542-4
import { type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { ImageError, isTransient } from "../errors/image-error.ts";

/** The state of a network transfer that one or more pulls wait for. */
export interface Transfer {
  /** Whether data is expected from the network; false while a layer is verified or unpacked. */
  readonly waiting: boolean;
  /** When data last arrived, or when the transfer started to wait for it. */
  readonly lastAtMs: number;
  /** When the transfer was last restarted; 0 before the first restart. */
  readonly restartedAtMs: number;
}

type Send<T> = (signal: AbortSignal) => Promise<T>;

/** A transfer with the methods of the code that runs it. */
export interface RestartableTransfer extends Transfer {
  /** Records that data arrived. */
  touch(): void;
  /** Runs work that waits for the network. The time before it does not count as silence. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Sends a request. A restart sends it again but keeps the previous request open, because a slow registry may still
   * answer that one first. The first response wins; an error of the newest request fails the whole.
   */
  request<T>(send: Send<T>, signal: AbortSignal): Promise<T>;
  /** Runs work that sends a request and reads its body. A restart while the body is read runs the work again. */
  attempt<T>(work: Send<T>, signal: AbortSignal): Promise<T>;
  /** Sends nothing between attempts, for example during the back-off after an error. */
  restart(): void;
}

const restarted = new ImageError("cancelled", "the transfer was restarted");

export function createTransfer(now: () => number): RestartableTransfer {
  let count = 0;
  let lastAtMs = now();
  let restartedAtMs = 0;
  let onRestart = () => {};

  async function withRestart<T>(handler: () => void, work: () => Promise<T>): Promise<T> {
    const outer = onRestart;
    onRestart = handler;
    try {
      return await work();
    } finally {
      onRestart = outer;
    }
  }

  return {
    get waiting() {
      return count > 0;
    },
    get lastAtMs() {
      return lastAtMs;
    },
    get restartedAtMs() {
      return restartedAtMs;
    },
    touch() {
      lastAtMs = now();
    },
    async during(work) {
      if (count++ === 0) lastAtMs = now();
      try {
        return await work();
      } finally {
        count--;
      }
    },
    request(send, signal) {
      const { start, first } = raceRequests(send, signal);
      return withRestart(start, () => {
        start();
        return first;
      });
    },
    async attempt(work, signal) {
      for (;;) {
        const own = new AbortController();
        try {
          return await withRestart(
            () => own.abort(restarted),
            () => work(AbortSignal.any([signal, own.signal])),
          );
        } catch (error) {
          signal.throwIfAborted();
          if (!own.signal.aborted) throw error;
        }
      }
    },
    restart() {
      restartedAtMs = now();
      onRestart();
    },
  };
}

/** Each `start` sends the request again. At most two are open, so that any number of restarts costs two connections. */
function raceRequests<T>(send: Send<T>, signal: AbortSignal): { start(): void; first: Promise<T> } {
  let open: readonly AbortController[] = [];
  let settle: { resolve(response: T): void; reject(error: unknown): void };
  const first = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });

  function keep(kept: readonly AbortController[]): void {
    for (const request of open) if (!kept.includes(request)) request.abort(restarted);
    open = kept;
  }

  async function run(): Promise<void> {
    const own = new AbortController();
    keep([...open.slice(-1), own]);
    try {
      const response = await send(AbortSignal.any([signal, own.signal]));
      if (!open.includes(own)) return;
      keep([own]);
      settle.resolve(response);
    } catch (error) {
      if (open.at(-1) !== own) return keep(open.filter((request) => request !== own));
      keep([]);
      settle.reject(error);
    }
  }

  return { start: () => void run(), first };
}

const policy = { initialMs: 200, maxMs: 5_000, factor: 3, resetAfterMs: 60_000 };
const maxAttempts = 4;

/**
 * Retries transient errors with back-off. An attempt that makes progress does not count: a long download may be
 * interrupted any number of times.
 */
export async function retryTransient<T>(
  attempt: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal; progress?: () => number },
): Promise<T> {
  const { clock, signal, progress = () => 0 } = options;
  let backoff: BackoffState | undefined;
  let failures = 0;
  let reached = progress();
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      if (progress() > reached) {
        failures = 0;
        backoff = undefined;
      }
      reached = Math.max(reached, progress());
      if (++failures >= maxAttempts) throw error;
      backoff = backOff(policy, backoff, clock.now());
      const retryAfterMs = error instanceof ImageError ? error.retryAfterMs : 0;
      await clock.sleep(Math.max(backoff.delayMs, retryAfterMs), signal);
    }
  }
}

/** A transfer as one caller of a pull waits for it. */
export interface AwaitedTransfer extends Transfer {
  /** Whether another caller began the transfer. */
  readonly joined: boolean;
}

export type StallDecision<T extends AwaitedTransfer> =
  /** Nothing is expected from the network: unpacking is not a stall. */
  | { readonly kind: "idle" }
  | { readonly kind: "wait"; readonly untilMs: number }
  | { readonly kind: "restart"; readonly transfers: readonly T[] }
  | { readonly kind: "fail" };

/**
 * Decides what a caller does about the silence of its pull. The caller's clock starts when the caller does, and every
 * byte of any transfer resets it. At half of the timeout the transfers that another caller began are restarted, at most
 * once per half timeout; at the whole timeout the caller fails.
 */
export function decideStall<T extends AwaitedTransfer>(
  transfers: readonly T[],
  { timeoutMs, sinceMs, now }: { timeoutMs: number; sinceMs: number; now: number },
): StallDecision<T> {
  if (timeoutMs <= 0 || !transfers.some(({ waiting }) => waiting)) return { kind: "idle" };
  const silentSinceMs = Math.max(sinceMs, ...transfers.map(({ lastAtMs }) => lastAtMs));
  const failAtMs = silentSinceMs + timeoutMs;
  if (failAtMs <= now) return { kind: "fail" };
  const halfMs = timeoutMs / 2;
  const restartAtMs = ({ restartedAtMs }: T) => Math.max(silentSinceMs, restartedAtMs) + halfMs;
  const joined = transfers.filter((transfer) => transfer.waiting && transfer.joined);
  const due = joined.filter((transfer) => restartAtMs(transfer) <= now);
  if (due.length > 0) return { kind: "restart", transfers: due };
  // Never longer than half of the timeout: a transfer that is joined meanwhile is due after that time.
  return { kind: "wait", untilMs: Math.min(failAtMs, now + halfMs, ...joined.map(restartAtMs)) };
}
