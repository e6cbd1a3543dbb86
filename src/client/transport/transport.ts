import type { Metrics } from "../../lib/metrics/metrics.ts";

export interface TransportRequest {
  readonly method: string;
  /** Path including the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Whether the response is a watch, without idle timeout and connection limit. */
  readonly longLived?: boolean;
}

/** Response whose body can be read once. Leaving the loop over its chunks discards the rest. */
export interface TransportResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  text(): Promise<string>;
  chunks(): AsyncIterable<Uint8Array>;
}

/**
 * Sends requests to an API server over HTTP or in-process. Connection failures are thrown as TransportError; an aborted
 * signal is thrown as its reason.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Cancels requests in progress. Further requests fail. */
  close(): void;
}

/** No response, or an incomplete one. It is unknown whether the server processed the request. */
export class TransportError extends Error {
  /** Whether no connection was established, or it was closed before a response: the server is probably not running. */
  readonly unreachable: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly unreachable?: boolean } = {}) {
    super(message, options);
    this.name = "TransportError";
    this.unreachable = options.unreachable ?? false;
  }
}

const requests = {
  name: "rest_client_requests_total",
  help: "Number of requests to the API server, by status code, method and host",
};

/** Wraps a transport to count its requests in upstream's metric. */
export function countRequests(transport: Transport, metrics: Metrics, host: string): Transport {
  const count = (code: string, method: string) => metrics.counter(requests, { code, method, host }).add();
  return {
    async send(request) {
      try {
        const response = await transport.send(request);
        count(String(response.status), request.method);
        return response;
      } catch (error) {
        count("<error>", request.method);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}
