import { status } from "@grpc/grpc-js";
import type { CriClient } from "../cri/cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "../cri/generated/cri.ts";
import type { CallTable, ServiceDefinition } from "../cri/serve-call.ts";
import type { Clock } from "../lib/clock.ts";
import { failure, unimplemented } from "./model/failure.ts";

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** Same default as for a client on a socket. */
const defaultTimeoutMs = 120_000;

/** Client without a socket, for thousands of pods in one process. Messages are shared, not copied. */
export function createInProcessClient(
  calls: { runtime: CallTable; images: CallTable },
  clock: Clock,
): CriClient {
  return {
    runtime: serviceClient(RuntimeServiceService, calls.runtime, clock),
    images: serviceClient(ImageServiceService, calls.images, clock),
    // There is no connection; calls in progress end with their signal or with the runtime.
    close() {},
  };
}

/** The types match, because the table has the calls of the service by the same names. */
function serviceClient(service: ServiceDefinition, calls: CallTable, clock: Clock) {
  const methods = Object.entries(service).map(([name, { path, responseStream }]) => {
    const call = calls[name] ?? missing(path);
    return [name, responseStream ? streamMethod(call) : unaryMethod(call, clock)];
  });
  return Object.fromEntries(methods);
}

type AnyCall = NonNullable<CallTable[string]>;

function missing(path: string): AnyCall {
  return async () => {
    throw unimplemented(`the simulated runtime has no ${path}`);
  };
}

function streamMethod(call: AnyCall) {
  return (request: never, { signal = never }: CallOptions = {}): AsyncIterable<unknown> => {
    // Started immediately, as over a socket, so that a subscriber misses no event before its first read.
    try {
      const messages = call(request, { signal });
      if (Symbol.asyncIterator in messages) return messages;
      throw new Error("the call does not return a stream");
    } catch (error) {
      return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
    }
  };
}

function unaryMethod(call: AnyCall, clock: Clock) {
  return async (request: never, { signal, timeoutMs = defaultTimeoutMs }: CallOptions = {}) => {
    const ending = new AbortController();
    const follow = () => ending.abort(signal?.reason);
    if (signal?.aborted) throw signal.reason;
    signal?.addEventListener("abort", follow, { once: true });
    clock.sleep(timeoutMs, ending.signal).then(
      () => ending.abort(failure(status.DEADLINE_EXCEEDED, "Deadline exceeded")),
      () => {
        // The call ended before the timeout.
      },
    );
    try {
      return await call(request, { signal: ending.signal });
    } finally {
      signal?.removeEventListener("abort", follow);
      ending.abort(over);
    }
  };
}

/** Signal for callers without one. */
const never = new AbortController().signal;
/** Abort reason after the end of a call, which releases its listeners. */
const over = new Error("the call is over");
