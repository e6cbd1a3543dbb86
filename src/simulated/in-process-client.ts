import { status } from "@grpc/grpc-js";
import type { CriClient } from "../cri/cri-client.ts";
import { ImageServiceService, RuntimeServiceService } from "../cri/generated/cri.ts";
import type { CallTable, ServiceDefinition } from "../cri/serve-call.ts";
import type { Clock } from "../lib/clock.ts";
import { failure, unimplemented } from "./failure.ts";

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** As over a socket. */
const defaultTimeoutMs = 120_000;

/** The calls without a socket between, for thousands of pods in one process. Messages are shared, not copied. */
export function createInProcessClient(
  calls: { runtime: CallTable; images: CallTable },
  clock: Clock,
): CriClient {
  return {
    runtime: serviceClient(RuntimeServiceService, calls.runtime, clock),
    images: serviceClient(ImageServiceService, calls.images, clock),
    // Nothing is held open; what is under way ends with its signal or with the runtime.
    close() {},
  };
}

/** The types are the service's own: the table has its calls by the same names. */
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
    // Begun at once, as over a socket: a subscriber misses nothing before its first read.
    try {
      const messages = call(request, { signal });
      if (Symbol.asyncIterator in messages) return messages;
      throw new Error("a call that does not answer with a stream");
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
        // Answered in time.
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

/** The signal of a caller that does not give up. */
const never = new AbortController().signal;
/** What a call's signal says after it has ended: nobody looks. */
const over = new Error("the call is over");
