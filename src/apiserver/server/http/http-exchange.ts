import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { badRequest, requestTooLarge, type StatusError } from "../../../api/meta/status-error.ts";
import type { RequestAuthorizer } from "../../auth/request-authorizer.ts";
import type { KubeletProxy } from "../../handlers/subresources/kubelet-proxy.ts";
import type { Reader, UnreadMemory } from "../../limits/unread-memory.ts";
import type { BytesResponse, WatchResponse, WatchSink } from "../../request/api-request.ts";
import type { RequestInfo } from "../../request/request-info.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Exchange } from "../middleware.ts";
import { sendError, sendResponse } from "./respond.ts";

interface ExchangeContext {
  readonly authenticateAndAuthorize: RequestAuthorizer["authenticateAndAuthorize"];
  readonly memory: UnreadMemory;
}

/** A request over HTTPS. A class, because closures for each request would cost more than the one allocation. */
export class HttpExchange implements Exchange {
  readonly limited = true;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: ExchangeContext;

  constructor(request: IncomingMessage, response: ServerResponse, context: ExchangeContext) {
    this.#request = request;
    this.#response = response;
    this.#context = context;
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }

  get url(): string {
    return this.#request.url ?? "/";
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  authorize(info: RequestInfo, query: URLSearchParams): UserInfo | Promise<UserInfo> {
    return this.#context.authenticateAndAuthorize(this.#request, info, query);
  }

  readBody(): Promise<Buffer> {
    return readBody(this.#request);
  }

  send(result: BytesResponse | WatchResponse): void | Promise<void> {
    const response = this.#response;
    const { memory } = this.#context;
    const reader = this.#request.socket;
    if (result.kind === "bytes")
      return sendResponse(response, result, { method: this.method, reader, memory });
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
    return result.run(createResponseSink(response, { reader, memory }));
  }

  sendError(error: StatusError): void {
    sendError(this.#response, error, this.#request);
  }

  /** The proxy passes backpressure on to the kubelet: its client may pause for as long as it wants. */
  async forward(proxy: KubeletProxy, query: URLSearchParams): Promise<void> {
    const { memory } = this.#context;
    const { socket } = this.#request;
    memory.remove(socket);
    try {
      await proxy.request(this.#request, this.#response, query);
    } finally {
      if (!socket.destroyed) memory.add(socket);
    }
  }

  status(): number {
    return this.#response.statusCode;
  }
}

/** Maximum size of a body, as upstream: 3 MiB. */
const maxBodyBytes = 3 * 1_024 * 1_024;

/** Reads the whole body. Throws 413 as soon as it exceeds the limit. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > maxBodyBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBodyBytes) {
        request.pause();
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    request.on("end", () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.on("error", reject);
    request.on("close", () => {
      if (!request.complete) reject(badRequest("the request ended before its body did"));
    });
  });
}

function tooLarge() {
  return requestTooLarge(`limit is ${maxBodyBytes}`);
}

/** Length of a TLS record. No more is written to the socket at once, because it copies what is written. */
const sliceBytes = 16 * 1_024;

/** Sends a watch as an HTTP response. Bytes that the socket does not take yet are kept as references to shared frames. */
function createResponseSink(
  response: ServerResponse,
  { reader, memory }: { reader: Reader; memory: UnreadMemory },
): WatchSink {
  const closed = new AbortController();
  let queue: Buffer[] = [];
  let queuedBytes = 0;
  /** How much of the first chunk of the queue is written. */
  let offset = 0;
  let ended = false;
  let wake: (() => void) | undefined;

  function send(chunk: Buffer): void {
    response.write(chunk);
    memory.wrote(chunk.length);
  }

  function enqueue(chunk: Buffer): void {
    queue.push(chunk);
    queuedBytes += chunk.length;
    memory.hold(reader, chunk, chunk.length);
  }

  /** Writes from the queue until the socket takes no more. */
  function pump(): void {
    while (!response.writableNeedDrain) {
      const [chunk] = queue;
      if (!chunk) {
        wakeUp();
        return;
      }
      const slice = chunk.subarray(offset, offset + sliceBytes);
      offset += slice.length;
      queuedBytes -= slice.length;
      if (offset === chunk.length) {
        queue.shift();
        offset = 0;
        memory.release(reader, chunk, chunk.length);
      }
      send(slice);
    }
  }

  function wakeUp(): void {
    wake?.();
    wake = undefined;
    if (ended) response.end();
  }

  function close(): void {
    for (const chunk of queue) memory.release(reader, chunk, chunk.length);
    queue = [];
    queuedBytes = 0;
    closed.abort();
    wakeUp();
  }

  response.on("drain", pump);
  response.on("close", close);
  response.on("error", close);
  // The events of a response that has been destroyed may have been emitted already.
  if (response.destroyed) close();

  return {
    write(frame) {
      if (closed.signal.aborted) return;
      for (const chunk of frame) {
        if (queue.length === 0 && !response.writableNeedDrain && chunk.length <= sliceBytes) send(chunk);
        else enqueue(chunk);
      }
      if (queue.length > 0) pump();
    },
    backlog: () => queuedBytes + response.writableLength,
    drained: () =>
      new Promise((resolve) => {
        if (closed.signal.aborted || (queue.length === 0 && !response.writableNeedDrain)) return resolve();
        wake = resolve;
      }),
    hold: (data, bytes) => memory.hold(reader, data, bytes),
    release: (data, bytes) => memory.release(reader, data, bytes),
    end() {
      ended = true;
      closed.abort();
      if (queue.length === 0) response.end();
    },
    closed: closed.signal,
  };
}
