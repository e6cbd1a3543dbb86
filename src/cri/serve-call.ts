import { once } from "node:events";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerUnaryCall,
  type StatusObject,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Logger } from "../lib/logger.ts";

// Adapts grpc-js to promises, async iterables and an AbortSignal for cancelled calls.

export interface CallContext {
  readonly signal: AbortSignal;
}
export type UnaryRpc<Request, Response> = (request: Request, context: CallContext) => Promise<Response>;
export type StreamRpc<Request, Response> = (
  request: Request,
  context: CallContext,
) => AsyncIterable<Response>;

/** Call table of a service, for `satisfies`. */
export type ServiceCalls<Service> = { readonly [Name in keyof Service]?: CallOf<Service[Name]> };

type CallOf<Method> = Method extends {
  responseStream: infer Streams;
  requestSerialize: (request: infer Request) => Buffer;
  responseDeserialize: (bytes: Buffer) => infer Response;
}
  ? Streams extends true
    ? StreamRpc<Request, Response>
    : UnaryRpc<Request, Response>
  : never;

/** Calls of any service, by method name. */
export type CallTable = Readonly<Record<string, AnyCall | undefined>>;
type AnyCall = UnaryRpc<never, unknown> | StreamRpc<never, unknown>;
export type ServiceDefinition = Readonly<
  Record<string, { readonly path: string; readonly responseStream: boolean }>
>;

interface ServeOptions {
  readonly logger: Logger;
  /** Converts errors to gRPC statuses. */
  toStatus(error: unknown): Failure;
}
type Failure = Pick<StatusObject, "code" | "details">;

/** Creates handlers for `server.addService`. Missing calls respond with UNIMPLEMENTED. */
export function serveCalls(
  service: ServiceDefinition,
  calls: CallTable,
  options: ServeOptions,
): UntypedServiceImplementation {
  const served: UntypedServiceImplementation = {};
  for (const [key, { path, responseStream }] of Object.entries(service)) {
    const call = calls[key];
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (!call) continue;
    served[key] = responseStream
      ? serveStream(call, { ...options, name })
      : serveUnary(call, { ...options, name });
  }
  return served;
}

function serveUnary(
  rpc: AnyCall,
  { name, logger, toStatus }: ServeOptions & { name: string },
): handleUnaryCall<unknown, unknown> {
  return async (call, respond) => {
    const began = performance.now();
    try {
      const response = await rpc(requestOf(call), { signal: signalOf(call) });
      if (logger.debugging) logger.debug(name, { ms: Math.round(performance.now() - began) });
      respond(null, response);
    } catch (error) {
      const answer = toStatus(error);
      logFailure(logger, name, { answer, error });
      respond(answer);
    }
  };
}

function serveStream(
  rpc: AnyCall,
  { name, logger, toStatus }: ServeOptions & { name: string },
): handleServerStreamingCall<unknown, unknown> {
  return async (call) => {
    const signal = signalOf(call);
    try {
      const messages = rpc(requestOf(call), { signal });
      if (!(Symbol.asyncIterator in messages)) throw new Error(`${name} does not return a stream`);
      for await (const message of messages) {
        if (call.write(message)) continue;
        // The client reads slowly: wait for it instead of buffering, unless it has disconnected.
        const hasRead = await once(call, "drain", { signal }).then(
          () => true,
          () => false,
        );
        if (!hasRead) break;
      }
      call.end();
    } catch (error) {
      const answer = toStatus(error);
      logFailure(logger, name, { answer, error });
      call.emit("error", Object.assign(new Error(answer.details), answer));
    }
  };
}

/** The request has the type of the call, because both come from the same method definition. */
function requestOf(call: { readonly request: unknown }): never {
  return call.request as never;
}

/** Aborts when the client cancels, its deadline passes, or the connection fails. */
function signalOf(call: Pick<ServerUnaryCall<unknown, unknown>, "on">): AbortSignal {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort(new Error("the client cancelled the call")));
  return controller.signal;
}

function logFailure(
  logger: Logger,
  name: string,
  { answer, error }: { answer: Failure; error: unknown },
): void {
  const fields = { call: name, code: status[answer.code], details: answer.details };
  const expected = answer.code !== status.UNKNOWN;
  if (expected) logger.debug("call failed", fields);
  else logger.warn("call failed", { ...fields, error });
}
