import { type ServiceError, status } from "@grpc/grpc-js";
import { type BackoffState, backOff } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { isGrpcError } from "../../lib/grpc-call.ts";
import { StoreError, type StoreErrorCode } from "../store.ts";

const unavailableCodes = [
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.INTERNAL,
  status.UNKNOWN,
];

/** Reports whether the member, its connection or its leader is unavailable, as opposed to an error from etcd. */
export function isUnavailable(error: unknown): error is ServiceError {
  return isGrpcError(error, ...unavailableCodes);
}

/** All members are unavailable: lists the last error of each. */
export function allMembersUnavailable(failures: ReadonlyMap<string, ServiceError>): StoreError {
  const reasons = [...failures].map(([url, error]) => `${url}: ${describeFailure(error.details)}`);
  const cause = [...failures.values()].at(-1);
  return new StoreError("unavailable", `etcd is unavailable: ${reasons.join("; ")}`, { cause });
}

export function outcomeUnknown(error: ServiceError, url: string): StoreError {
  const message = `etcd at ${url} failed; the write may or may not have been applied`;
  return new StoreError("unavailable", `${message}: ${describeFailure(error.details)}`, { cause: error });
}

/** Extracts the cause from grpc-js's description of a connection failure. */
export function describeFailure(details: string): string {
  const lastError = /Last error: (Error: )?(?<reason>.*?)( \(\d{4}-[^)]*Z\))?\. Resolution note:/s.exec(
    details,
  );
  const reason = lastError?.groups?.reason?.trim() ?? details;
  const alert = /[^:]* alert [^:]*(certificate|unknown ca)[^:]*/.exec(reason)?.[0];
  return alert ? `it rejects our client certificate, or requires one (${alert})` : reason;
}

/** Maps etcd's error texts, because several errors share one gRPC code. */
const codesByDetails: Readonly<Record<string, StoreErrorCode>> = {
  "etcdserver: mvcc: required revision has been compacted": "compacted",
  "etcdserver: mvcc: required revision is a future revision": "futureRevision",
  "etcdserver: mvcc: database space exceeded": "noSpace",
  "etcdserver: request is too large": "valueTooLarge",
  "etcdserver: corrupt cluster": "corrupt",
};

export function fromEtcdError(error: ServiceError, url: string): StoreError {
  const code = codesByDetails[error.details] ?? (isTooLarge(error) ? "valueTooLarge" : "unavailable");
  return new StoreError(code, `etcd at ${url} failed: ${error.details}`, { cause: error });
}

/** Messages far above etcd's limit are rejected by its gRPC server. */
function isTooLarge(error: ServiceError): boolean {
  return error.code === status.RESOURCE_EXHAUSTED && error.details.includes("message larger than max");
}

/** Asserts a part of a response that etcd always sends although the message format makes it optional. */
export function expectPart<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new StoreError("unavailable", `the response of etcd lacks ${name}`);
  return part;
}

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
