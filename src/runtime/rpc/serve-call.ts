import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type ServerUnaryCall,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import type { Logger } from "../../lib/logger.ts";
import { RuntimeError } from "../runtime-error.ts";
import { toStatus } from "./to-status.ts";

// Between grpc-js and the calls: promises, async iterables, an AbortSignal for a caller that went away.

export type UnaryRpc<Request, Response> = (
  request: Request,
  context: { signal: AbortSignal },
) => Promise<Response>;
export type StreamRpc<Request, Response> = (
  request: Request,
  context: { signal: AbortSignal },
) => AsyncIterable<Response>;

interface ServeOptions {
  readonly name: string;
  readonly logger: Logger;
}

export function serveUnary<Request, Response>(
  rpc: UnaryRpc<Request, Response>,
  { name, logger }: ServeOptions,
): handleUnaryCall<Request, Response> {
  return (call, respond) => {
    const began = performance.now();
    rpc(call.request, { signal: signalOf(call) }).then(
      (response) => {
        if (logger.debugging) logger.debug(name, { ms: Math.round(performance.now() - began) });
        respond(null, response);
      },
      (error: unknown) => {
        const answer = toStatus(error);
        logFailure(logger, name, { answer, error });
        respond(answer);
      },
    );
  };
}

export function serveStream<Request, Response>(
  rpc: StreamRpc<Request, Response>,
  { name, logger }: ServeOptions,
): handleServerStreamingCall<Request, Response> {
  return async (call) => {
    const signal = signalOf(call);
    try {
      for await (const message of rpc(call.request, { signal })) {
        if (call.write(message)) continue;
        // The reader is slow: wait for it instead of piling up, unless it is gone.
        await new Promise<void>((resolve) => {
          call.once("drain", resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
        if (signal.aborted) break;
      }
      call.end();
    } catch (error) {
      const answer = toStatus(error);
      logFailure(logger, name, { answer, error });
      call.emit("error", Object.assign(new Error(answer.details), answer));
    }
  };
}

/** Aborts when the caller cancels, its deadline passes, or its connection breaks. */
function signalOf(call: Pick<ServerUnaryCall<unknown, unknown>, "on">): AbortSignal {
  const controller = new AbortController();
  call.on("cancelled", () => controller.abort(new RuntimeError("internal", "the caller went away")));
  return controller.signal;
}

function logFailure(
  logger: Logger,
  name: string,
  { answer, error }: { answer: Pick<StatusObject, "code" | "details">; error: unknown },
): void {
  const fields = { call: name, code: status[answer.code], details: answer.details };
  const expected = answer.code !== status.UNKNOWN;
  if (expected) logger.debug("call failed", fields);
  else logger.warn("call failed", { ...fields, error });
}
