import type { Transport, TransportRequest } from "./transport.ts";

export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Chunks, or a value that is sent as JSON. */
  readonly chunks?: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly body?: unknown;
}

/** Transport that returns scripted responses and records the requests. */
export function createScriptedTransport(
  answer: (request: TransportRequest) => ScriptedResponse | Promise<ScriptedResponse>,
): {
  transport: Transport;
  requests: TransportRequest[];
} {
  const requests: TransportRequest[] = [];
  return {
    requests,
    transport: {
      async send(request) {
        requests.push(request);
        const { status = 200, headers = {}, chunks, body } = await answer(request);
        const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
        async function* read() {
          yield* chunks ?? [Buffer.from(text)];
        }
        return { status, headers, chunks: read, text: async () => text };
      },
      close() {},
    },
  };
}
