import type { IncomingHttpHeaders } from "node:http";
import { badRequest, type StatusError } from "../../api/meta/status-error.ts";
import type { Logger } from "../../lib/logger.ts";
import type { KubeletProxy } from "../handlers/subresources/kubelet-proxy.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";
import type { InFlight, WatchLimits } from "../limits/request-limits.ts";
import type { ApiRequest, BytesResponse, WatchResponse } from "../request/api-request.ts";
import { noQuery, parseRequest, type RequestInfo, splitUrl } from "../request/request-info.ts";
import { toStatusError } from "../request/to-status-error.ts";
import type { UserInfo } from "../request/user-info.ts";
import type { ApiMetrics } from "./metrics/request-metrics.ts";

/** A received request and the way to respond to it. Each listener has its own implementation. */
export interface Exchange {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /**
   * Whether the limits for all clients together apply: requests in flight and the total of watches. The limit of watches
   * per user applies to every exchange.
   */
  readonly limited: boolean;
  /** Authenticates and authorizes the request. Throws or rejects with 401 or 403. */
  authorize(info: RequestInfo, query: URLSearchParams): UserInfo | Promise<UserInfo>;
  /** Reads the whole body, within the size limit. */
  readBody(): Promise<Buffer>;
  /**
   * Sends the response. A watch is always run, even if the client has disconnected. The promise, if there is one, resolves
   * when a watch has ended or a long body was sent.
   */
  send(response: BytesResponse | WatchResponse): void | Promise<void>;
  sendError(error: StatusError): void;
  /** Forwards the request to a kubelet. */
  forward(proxy: KubeletProxy, query: URLSearchParams): Promise<void>;
  /** Status code of the response that was sent. */
  status(): number;
}

export interface MiddlewareDeps {
  readonly logger: Logger;
  readonly metrics: ApiMetrics;
  readonly kinds: KindRegistry;
  readonly inFlight: InFlight;
  readonly watchLimits: WatchLimits;
  /** Undefined for requests that no kubelet serves. */
  proxy(info: RequestInfo, user: UserInfo): KubeletProxy | undefined;
  /** Response to a GET that the cache can serve without waiting. Undefined for every other request. */
  tryCachedGet(request: Pick<ApiRequest, "info" | "query" | "headers">): BytesResponse | undefined;
  handleRequest(request: ApiRequest): Promise<BytesResponse | WatchResponse>;
}

/**
 * The stages that every request passes, whichever listener received it:
 *
 *     parse ──▶ authenticate and authorize ──▶ cached GET, or: limits ──▶ handler (or kubelet proxy)
 *       └────────────── metrics and log observe the outcome of all of them ──────────────┘
 *
 * The body is read by the handler, after the request was authorized. Returns a promise only when something has to be
 * waited for.
 */
export type Middleware = (exchange: Exchange) => void | Promise<void>;

export function createMiddleware(deps: MiddlewareDeps): Middleware {
  const { logger, metrics, kinds, inFlight, watchLimits } = deps;

  function handle(exchange: Exchange): void | Promise<void> {
    const startedAt = performance.now();
    let info: RequestInfo | undefined;
    let query = noQuery;
    try {
      const url = splitUrl(exchange.url);
      query = url.query;
      info = parseRequest(kinds, exchange.method, url.path, query);
      if (!info) throw badRequest("the path of the request is not valid percent-encoding");
      const user = exchange.authorize(info, query);
      const cached =
        user instanceof Promise ? undefined : deps.tryCachedGet({ info, query, headers: exchange.headers });
      if (!cached) return handleAsync({ exchange, info, query, startedAt }, user);
      void exchange.send(cached);
    } catch (error) {
      fail(exchange, error);
    }
    observe(exchange, info, query, startedAt);
  }

  async function handleAsync(
    { exchange, info, query, startedAt }: ParsedExchange,
    caller: UserInfo | Promise<UserInfo>,
  ): Promise<void> {
    try {
      const user = await caller;
      const proxy = deps.proxy(info, user);
      await (proxy ? exchange.forward(proxy, query) : respond(exchange, info, query, user));
    } catch (error) {
      fail(exchange, error);
    }
    observe(exchange, info, query, startedAt);
  }

  async function respond(
    exchange: Exchange,
    info: RequestInfo,
    query: URLSearchParams,
    user: UserInfo,
  ): Promise<void> {
    const { method, headers } = exchange;
    const isLimited = exchange.limited && !isLongRunning(info);
    const leave = isLimited ? inFlight.enter(method === "GET" ? "read" : "write") : undefined;
    const readBody = () => exchange.readBody();
    // Responses that are being sent hold no slot: a client that reads slowly must not block other requests.
    const handled = deps.handleRequest({ method, info, query, headers, user, readBody });
    const response = await (leave ? handled.finally(leave) : handled);
    await exchange.send(response.kind === "watch" ? limitWatch(exchange, user, response) : response);
  }

  function limitWatch(
    { limited }: Exchange,
    { username }: UserInfo,
    { kind, run }: WatchResponse,
  ): WatchResponse {
    const leave = watchLimits.enter({ username, inProcess: !limited });
    return { kind, run: (sink) => run(sink).finally(leave) };
  }

  function fail(exchange: Exchange, error: unknown): void {
    const failure = toStatusError(error);
    if (failure.code === 500) {
      logger.error("request failed", { method: exchange.method, path: pathOf(exchange), error });
    }
    exchange.sendError(failure);
  }

  function observe(
    exchange: Exchange,
    info: RequestInfo | undefined,
    query: URLSearchParams,
    startedAt: number,
  ): void {
    const seconds = (performance.now() - startedAt) / 1_000;
    const code = exchange.status();
    if (info) metrics.observe(info, { code, seconds, dryRun: query.has("dryRun") });
    if (!logger.debugging) return;
    logger.debug("request", { method: exchange.method, path: pathOf(exchange), code, ms: seconds * 1_000 });
  }

  return handle;
}

interface ParsedExchange {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly startedAt: number;
}

/** The path without the query, which may contain what must not be logged. */
function pathOf({ url }: Exchange): string {
  return splitUrl(url).path;
}

function isLongRunning(info: RequestInfo): boolean {
  return info.kind === "resource" && info.verb === "watch";
}
