import type { Readable } from "node:stream";
import { type Client, Metadata, type MethodDefinition, type ServiceError, type status } from "@grpc/grpc-js";

// grpc-js with promises, AbortSignals and async iterables. An aborted call rejects with the signal's reason, any other
// failure with grpc-js's own error, which isGrpcError recognizes.

type Method<Request, Response> = Pick<
  MethodDefinition<Request, Response>,
  "path" | "requestSerialize" | "responseDeserialize"
>;

interface StreamOptions {
  signal?: AbortSignal;
  metadata?: Metadata;
}

interface UnaryOptions<Request> extends StreamOptions {
  request: Request;
  timeoutMs: number;
}

export function callUnary<Request, Response>(
  client: Client,
  method: Method<Request, Response>,
  options: UnaryOptions<Request>,
): Promise<Response> {
  const { request, timeoutMs, signal, metadata = new Metadata() } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      { deadline: Date.now() + timeoutMs },
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (response !== undefined) resolve(response);
        else reject(signal?.aborted ? signal.reason : error);
      },
    );
    function cancel(): void {
      call.cancel();
    }
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** Calls a server-streaming method. Leaving the loop over the responses cancels the call. */
export function callServerStream<Request, Response>(
  client: Client,
  method: Method<Request, Response>,
  options: StreamOptions & { request: Request },
): AsyncIterable<Response> {
  const { request, signal, metadata = new Metadata() } = options;
  return readMessages(
    client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
    ),
    signal,
  );
}

export interface DuplexCall<Request, Response> extends AsyncIterable<Response> {
  /** Ignored after the call has ended; the reader receives the error. */
  send(request: Request): void;
}

/** Opens a bidirectional stream. Leaving the loop over the responses cancels the call. */
export function openDuplex<Request, Response>(
  client: Client,
  method: Method<Request, Response>,
  options: StreamOptions,
): DuplexCall<Request, Response> {
  const { signal, metadata = new Metadata() } = options;
  const call = client.makeBidiStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    metadata,
  );
  return { ...readMessages<Response>(call, signal), send: (request) => void call.write(request) };
}

export function isGrpcError(error: unknown, ...codes: status[]): error is ServiceError {
  if (!(error instanceof Error && "code" in error && "details" in error)) return false;
  return codes.length === 0 || codes.some((code) => code === error.code);
}

type Ending = { kind: "open" } | { kind: "ended" } | { kind: "failed"; error: unknown };

/**
 * Yields every message, then ends or throws. The iterator of a Readable would throw before yielding messages that arrived
 * earlier, and does not cancel the call when the loop is left.
 */
function readMessages<T>(call: Readable & { cancel(): void }, signal?: AbortSignal): AsyncIterable<T> {
  let ending: Ending = { kind: "open" };
  let wake: () => void = () => {};

  function end(how: Ending): void {
    if (ending.kind === "open") ending = how;
    signal?.removeEventListener("abort", cancel);
    wake();
  }
  function cancel(): void {
    call.cancel();
  }

  // Registered immediately, because an error event without a listener would crash the process.
  call.on("readable", () => wake());
  call.on("end", () => end({ kind: "ended" }));
  call.on("error", (error) => end({ kind: "failed", error }));
  if (signal?.aborted) cancel();
  else signal?.addEventListener("abort", cancel, { once: true });

  async function* read(): AsyncGenerator<T> {
    try {
      for (;;) {
        signal?.throwIfAborted();
        const message: T | null = call.read();
        if (message !== null) {
          yield message;
          continue;
        }
        if (ending.kind === "failed") throw ending.error;
        if (ending.kind === "ended") return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      cancel();
    }
  }
  return { [Symbol.asyncIterator]: read };
}
