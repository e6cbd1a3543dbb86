import type { ServiceError } from "@grpc/grpc-js";
import { type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { fromEtcdAnswer, isAway, nobodyAnswers, outcomeUnknown } from "./etcd-error.ts";

interface Endpoint {
  readonly url: string;
  connect(): Promise<ServiceError | undefined>;
}

/**
 * What may be made again when it got no answer, and what may not. Both wait for a connection; what must happen once
 * is not sent again after that, because it may have happened.
 */
export type CallKind = "repeatable" | "once";

/** Which member to talk to, and how long to try: all calls go to one member until it fails, then to the next. */
export interface EtcdFailover<E> {
  /** Makes a call within the time allowed. */
  call<T>(kind: CallKind, attempt: (endpoint: E, timeoutMs: number) => Promise<T>): Promise<T>;
  /** Runs the session, and again on the next member whenever it ends, until the signal aborts. */
  keepRunning(session: (endpoint: E) => Promise<void>): Promise<never>;
}

const policy = { initialMs: 20, factor: 2, maxMs: 1_000, resetAfterMs: 5_000 };

export function createEtcdFailover<E extends Endpoint>(
  endpoints: readonly E[],
  options: { timeoutMs: number; clock: Clock; signal: AbortSignal },
): EtcdFailover<E> {
  const { timeoutMs, clock, signal } = options;
  const [first] = endpoints;
  if (!first) throw new Error("etcd needs at least one endpoint");
  let current = first;

  function leave(endpoint: E): void {
    // Of many calls that fail on one member only the first moves on; together they would skip members.
    if (endpoint === current)
      current = endpoints[(endpoints.indexOf(endpoint) + 1) % endpoints.length] ?? endpoint;
  }

  /** The attempts of one call, or of one session after the other. */
  function createAttempts(deadline: number) {
    const failures = new Map<string, ServiceError>();
    let backoff: BackoffState | undefined;

    /** Moves on to the next member after a pause that grows, or throws when the time is up. */
    async function moveOn(endpoint: E, error?: ServiceError): Promise<void> {
      if (error) failures.set(endpoint.url, error);
      leave(endpoint);
      backoff = backOff(policy, backoff, clock.now());
      if (clock.now() + backoff.delayMs >= deadline) throw nobodyAnswers(failures);
      await clock.sleep(backoff.delayMs, signal);
    }

    /** A member that answers. */
    async function connect(): Promise<E> {
      for (;;) {
        signal.throwIfAborted();
        const endpoint = current;
        const error = await endpoint.connect();
        if (!error) return endpoint;
        await moveOn(endpoint, error);
      }
    }

    return { connect, moveOn };
  }

  return {
    async call(kind, attempt) {
      const deadline = clock.now() + timeoutMs;
      const attempts = createAttempts(deadline);
      for (;;) {
        const endpoint = await attempts.connect();
        try {
          return await attempt(endpoint, deadline - clock.now());
        } catch (error) {
          if (!isAway(error)) throw isGrpcError(error) ? fromEtcdAnswer(error, endpoint.url) : error;
          if (kind === "once") {
            leave(endpoint);
            throw outcomeUnknown(error, endpoint.url);
          }
          await attempts.moveOn(endpoint, error);
        }
      }
    },

    async keepRunning(session) {
      const attempts = createAttempts(Number.POSITIVE_INFINITY);
      for (;;) {
        const endpoint = await attempts.connect();
        try {
          await session(endpoint);
        } catch (error) {
          if (!isAway(error)) throw error;
        }
        await attempts.moveOn(endpoint);
      }
    },
  };
}
