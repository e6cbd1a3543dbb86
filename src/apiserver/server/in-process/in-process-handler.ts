import { setImmediate as nextTurn } from "node:timers/promises";
import type { StatusError } from "../../../api/meta/status-error.ts";
import { createAsyncQueue } from "../../../lib/async-queue.ts";
import type { RequestAuthorizer } from "../../auth/request-authorizer.ts";
import { isProxied } from "../../handlers/subresources/kubelet-proxy.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import type { Reader, UnreadMemory } from "../../limits/unread-memory.ts";
import {
  type BytesResponse,
  type WatchResponse,
  type WatchSink,
  wholeBody,
} from "../../request/api-request.ts";
import { parseRequest, type RequestInfo, splitUrl } from "../../request/request-info.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Exchange, Middleware } from "../middleware.ts";

/** A request of a component in the server's own process: what HTTP would carry. */
interface InProcessRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface InProcessResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a watch arrives in pieces. */
  readonly body: string | Buffer | AsyncGenerator<Buffer>;
}

export interface InProcessHandler {
  /** Undefined for requests that a kubelet serves: they need a connection. */
  handle(user: UserInfo, request: InProcessRequest): Promise<InProcessResponse | undefined>;
  /** Ends every open watch with an error. */
  close(): void;
}

interface InProcessHandlerDeps {
  readonly kinds: KindRegistry;
  readonly authorize: RequestAuthorizer["authorize"];
  readonly middleware: Middleware;
  readonly memory: UnreadMemory;
}

/** Serves components of the same process as the HTTPS listener would, without TLS and HTTP. */
export function createInProcessHandler(deps: InProcessHandlerDeps): InProcessHandler {
  const { kinds, authorize, middleware, memory } = deps;
  const watches = new Set<QueueSink>();

  return {
    async handle(user, request) {
      // One turn of the event loop for each request, as a connection would take, so that a chain of reads does not
      // starve other work.
      await nextTurn();
      if (mayBeProxied(request.path)) {
        const { path, query } = splitUrl(request.path);
        const info = parseRequest(kinds, request.method, path, query);
        if (info && isProxied(info)) return undefined;
      }
      const exchange = new InProcessExchange(request, { user, authorize, memory, watches });
      await middleware(exchange);
      return exchange.response;
    },
    close() {
      for (const watch of watches) watch.fail(new Error("the API server has stopped"));
    },
  };
}

const proxiedPath = /\/(?:log|exec|attach|portforward|proxy)|%/;

/** A cheap test, so that most requests are parsed once only. */
function mayBeProxied(path: string): boolean {
  return proxiedPath.test(path);
}

interface ExchangeContext {
  readonly user: UserInfo;
  readonly authorize: RequestAuthorizer["authorize"];
  readonly memory: UnreadMemory;
  /** Open watches; the exchange adds its own. */
  readonly watches: Set<QueueSink>;
}

class InProcessExchange implements Exchange {
  /** The components of the process are few and trusted. */
  readonly limited = false;
  readonly #request: InProcessRequest;
  readonly #context: ExchangeContext;
  response: InProcessResponse | undefined;

  constructor(request: InProcessRequest, context: ExchangeContext) {
    this.#request = request;
    this.#context = context;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.path;
  }

  get headers(): Exchange["headers"] {
    return this.#request.headers;
  }

  authorize(info: RequestInfo, query: URLSearchParams): UserInfo {
    const { user, authorize } = this.#context;
    authorize(user, info, query);
    return user;
  }

  async readBody(): Promise<Buffer> {
    return Buffer.from(this.#request.body ?? "");
  }

  /** Does not wait for a watch to end: its response is the stream of its events. */
  send(response: BytesResponse | WatchResponse): void {
    if (response.kind === "bytes") {
      this.response = { ...response, body: wholeBody(response.body) };
      return;
    }
    const { memory, watches } = this.#context;
    const sink = createQueueSink(memory);
    watches.add(sink);
    void response
      .run(sink)
      .catch(sink.fail)
      .finally(() => watches.delete(sink));
    this.response = { status: 200, headers: { "content-type": "application/json" }, body: sink.read() };
  }

  sendError(error: StatusError): void {
    const retryAfter = error.details?.retryAfterSeconds;
    this.response = {
      status: error.code,
      headers: {
        "content-type": "application/json",
        ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
      },
      body: JSON.stringify(error.toStatus()),
    };
  }

  async forward(): Promise<void> {
    throw new Error("requests for a kubelet are not served in this process");
  }

  status(): number {
    return this.response?.status ?? 0;
  }
}

/** Queue between a watch and its client in this process. */
export interface QueueSink extends WatchSink {
  /** Ends with the watch. Ending the iteration closes the sink. */
  read(): AsyncGenerator<Buffer>;
  /** Ends the stream of the reader with the error. */
  fail(error: unknown): void;
}

export function createQueueSink(memory: UnreadMemory): QueueSink {
  const closed = new AbortController();
  // Bounded by the backlog: a watch waits while its reader lags behind.
  const queue = createAsyncQueue<Buffer>({ capacity: Number.POSITIVE_INFINITY });
  let unread: Buffer[] = [];
  let backlog = 0;
  let written = 0;
  let wake = () => {};

  const reader: Reader = {
    byReference: true,
    get writableLength() {
      return backlog;
    },
    get bytesWritten() {
      return written;
    },
    destroy: () => fail(new Error("the watch was closed because its events were not read")),
  };
  memory.add(reader);

  function close(): void {
    memory.remove(reader);
    for (const chunk of unread) memory.release(reader, chunk, chunk.length);
    unread = [];
    closed.abort();
    wake();
  }

  function fail(error: unknown): void {
    queue.fail(error);
    close();
  }

  return {
    write(frame) {
      for (const chunk of frame) {
        if (closed.signal.aborted || !queue.push(chunk)) return;
        unread.push(chunk);
        memory.hold(reader, chunk, chunk.length);
        backlog += chunk.length;
        written += chunk.length;
      }
    },
    backlog: () => backlog,
    drained: () =>
      new Promise((resolve) => {
        if (backlog === 0 || closed.signal.aborted) return resolve();
        wake = resolve;
      }),
    hold: (data, bytes) => memory.hold(reader, data, bytes),
    release: (data, bytes) => memory.release(reader, data, bytes),
    end() {
      queue.end();
      closed.abort();
      wake();
    },
    fail,
    closed: closed.signal,
    async *read() {
      try {
        for await (const chunk of queue) {
          backlog -= chunk.length;
          if (unread.shift()) memory.release(reader, chunk, chunk.length);
          if (backlog === 0) wake();
          yield chunk;
        }
      } finally {
        close();
      }
    },
  };
}
