import type { ServiceError } from "@grpc/grpc-js";
import { type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { allMembersUnavailable, fromEtcdError, isUnavailable, outcomeUnknown } from "./etcd-error.ts";

interface Endpoint {
  readonly url: string;
  connect(): Promise<ServiceError | undefined>;
}

/**
 * Whether a call may be retried when its outcome is unknown. Both kinds wait for a connection; a call of kind `once` is
 * not sent again, because it may have been applied.
 */
export type CallKind = "repeatable" | "once";

/** Failover between members: all calls go to one member until it fails, then to the next. */
export interface EtcdFailover<E> {
  /** Runs a call with a timeout. */
  call<T>(kind: CallKind, attempt: (endpoint: E, timeoutMs: number) => Promise<T>): Promise<T>;
  /** Runs the session, and restarts it on the next member whenever it ends, until the signal aborts. */
  keepRunning(session: (endpoint: E) => Promise<void>): Promise<never>;
}

const policy = { initialMs: 20, factor: 2, maxMs: 1_000, resetAfterMs: 5_000 };

export function createEtcdFailover<E extends Endpoint>(
  endpoints: readonly E[],
  options: { timeoutMs: number; clock: Clock; signal: AbortSignal },
): EtcdFailover<E> {
  const { timeoutMs, clock, signal } = options;
  const [first] = endpoints;
  if (!first) throw new Error("etcd requires at least one endpoint");
  let current = first;

  function switchFrom(endpoint: E): void {
    // Only the first of several concurrent failures on one member switches; otherwise members would be skipped.
    if (endpoint === current)
      current = endpoints[(endpoints.indexOf(endpoint) + 1) % endpoints.length] ?? endpoint;
  }

  /** Attempts of one call, or of consecutive sessions. */
  function createAttempts(deadline: number) {
    const failures = new Map<string, ServiceError>();
    let backoff: BackoffState | undefined;

    /** Switches to the next member after an increasing delay, or throws when the deadline is exceeded. */
    async function tryNext(endpoint: E, error?: ServiceError): Promise<void> {
      if (error) failures.set(endpoint.url, error);
      switchFrom(endpoint);
      backoff = backOff(policy, backoff, clock.now());
      if (clock.now() + backoff.delayMs >= deadline) throw allMembersUnavailable(failures);
      await clock.sleep(backoff.delayMs, signal);
    }

    /** Returns a member that responds. */
    async function connect(): Promise<E> {
      for (;;) {
        signal.throwIfAborted();
        const endpoint = current;
        const error = await endpoint.connect();
        if (!error) return endpoint;
        await tryNext(endpoint, error);
      }
    }

    return { connect, tryNext };
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
          if (!isUnavailable(error)) throw isGrpcError(error) ? fromEtcdError(error, endpoint.url) : error;
          if (kind === "once") {
            switchFrom(endpoint);
            throw outcomeUnknown(error, endpoint.url);
          }
          await attempts.tryNext(endpoint, error);
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
          if (!isUnavailable(error)) throw error;
        }
        await attempts.tryNext(endpoint);
      }
    },
  };
}
