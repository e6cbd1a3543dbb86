export interface TransportRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** A watch: the answer may be silent for long, and nobody waits for its connection. */
  readonly longLived?: boolean;
}

/** The body is read once, one way or the other; leaving the loop over its chunks gives up the rest. */
export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  text(): Promise<string>;
  chunks(): AsyncIterable<Uint8Array>;
}

/**
 * How requests reach an API server: over HTTP, or inside this process. What keeps a request or the rest of an answer
 * from arriving is a TransportError; an aborted signal is thrown as its reason.
 */
export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  /** Ends what is under way; every later request fails. */
  close(): void;
}

/** The server did not answer, or not to the end. Whether it did what was asked is unknown. */
export class TransportError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = "TransportError";
  }
}
