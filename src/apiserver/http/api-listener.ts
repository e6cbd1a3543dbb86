import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { Duplex } from "node:stream";
import { badRequest } from "../../api/status-error.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Answer, ApiRequest, BytesAnswer } from "../api-request.ts";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { ApiMetrics } from "../metrics/api-metrics.ts";
import { noQuery, parseRequest, type RequestInfo, splitUrl } from "../request-info.ts";
import type { KubeletProxy } from "../subresource/kubelet-proxy.ts";
import { toStatusError } from "../to-status-error.ts";
import { createInFlight } from "./in-flight.ts";
import { readBody } from "./read-body.ts";
import { refuseUpgrade, sendBytes, sendError, sendWarnings } from "./respond.ts";
import { createResponseSink } from "./response-sink.ts";

export interface ListenerDeps {
  readonly tls: Pick<ServerOptions, "cert" | "key" | "ca">;
  readonly logger: Logger;
  readonly metrics: ApiMetrics;
  /** Who sends a request and whether they may; throws 401 and 403. */
  admitCaller: Gatekeeper["admitCaller"];
  answer(request: ApiRequest): Promise<Answer>;
  /** For requests that need nothing to be waited for: undefined for all others. */
  answerAtOnce(request: Pick<ApiRequest, "info" | "query" | "headers">): BytesAnswer | undefined;
  /** Requests whose bytes go to a kubelet: undefined for all others. */
  proxy(info: RequestInfo): KubeletProxy | undefined;
}

/** One request on its way to its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedAt: number;
  info: RequestInfo | undefined;
  query: URLSearchParams;
}

/** The HTTPS server: turns requests into answers and answers into bytes. */
export function createApiListener(deps: ListenerDeps): Server {
  const { logger, metrics } = deps;
  const inFlight = createInFlight();

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const exchange: Exchange = {
      request,
      response,
      startedAt: performance.now(),
      info: undefined,
      query: noQuery,
    };
    try {
      const { path, query } = splitUrl(request.url ?? "/");
      exchange.query = query;
      exchange.info = parseRequest(request.method ?? "GET", path, query);
      if (!exchange.info) throw badRequest("the path of the request is not valid percent-encoding");
      const user = deps.admitCaller(request, exchange.info, query);
      if (user instanceof Promise || !answeredAtOnce(exchange, exchange.info)) {
        void serveInTime(exchange, exchange.info, user);
        return;
      }
    } catch (error) {
      fail(exchange, error);
    }
    finish(exchange);
  }

  function answeredAtOnce({ request, response, query }: Exchange, info: RequestInfo): boolean {
    const answer = deps.answerAtOnce({ info, query, headers: request.headers });
    if (answer) sendBytes(response, answer, request.method ?? "GET");
    return answer !== undefined;
  }

  async function serveInTime(
    exchange: Exchange,
    info: RequestInfo,
    caller: UserInfo | Promise<UserInfo>,
  ): Promise<void> {
    const { request, response, query } = exchange;
    const { method = "GET", headers } = request;
    try {
      // The body is read only once it is known that its sender may send it.
      const user = await caller;
      const proxy = deps.proxy(info);
      if (proxy) {
        await proxy.request(request, response, query);
      } else {
        const leave = isLongRunning(info) ? noop : inFlight.enter(method === "GET" ? "read" : "write");
        try {
          await respond({ method, info, query, headers, user, readBody: () => readBody(request) }, response);
        } finally {
          leave();
        }
      }
    } catch (error) {
      fail(exchange, error);
    }
    finish(exchange);
  }

  function fail({ request, response }: Exchange, error: unknown): void {
    const failure = toStatusError(error);
    if (failure.code === 500)
      logger.error("request failed", { method: request.method, path: pathOf(request), error });
    sendError(response, failure, request);
  }

  function finish({ request, response, startedAt, info, query }: Exchange): void {
    const seconds = (performance.now() - startedAt) / 1_000;
    const code = response.statusCode;
    if (info) metrics.observe(info, { code, seconds, dryRun: query.has("dryRun") });
    if (logger.debugging)
      logger.debug("request", { method: request.method, path: pathOf(request), code, ms: seconds * 1_000 });
  }

  async function respond(request: ApiRequest, response: ServerResponse): Promise<void> {
    const answer = await deps.answer(request);
    if (answer.kind === "watch") {
      response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
      response.flushHeaders();
      await answer.run(createResponseSink(response));
      return;
    }
    if (answer.kind !== "bytes") throw new Error("the answer was not rendered");
    sendWarnings(response, answer.warnings);
    sendBytes(response, answer, request.method);
  }

  const server = createServer(
    {
      ...deps.tls,
      // Clients with a certificate are known by it; those without may have a token.
      requestCert: true,
      rejectUnauthorized: false,
      minVersion: "TLSv1.2",
      // A client that dawdles over its headers or body is cut off.
      headersTimeout: 20_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 120_000,
      maxHeaderSize: 32 * 1_024,
      // An exec or watch whose client vanished without a word is noticed.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
    serve,
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void upgrade(request, socket, head);
  });
  server.on("tlsClientError", (error) => logger.debug("TLS handshake failed", { error }));

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on("error", (error) => logger.debug("upgraded connection failed", { error }));
    try {
      const { path, query } = splitUrl(request.url ?? "/");
      const info = parseRequest(request.method ?? "GET", path, query);
      if (!info) throw badRequest("the path of the request is not valid percent-encoding");
      await deps.admitCaller(request, info, query);
      const proxy = deps.proxy(info);
      if (!proxy) throw badRequest("this path does not take an upgrade");
      await proxy.upgrade(request, socket, head);
    } catch (error) {
      refuseUpgrade(socket, toStatusError(error));
    }
  }
  return server;
}

/** Without the query: it may hold what does not belong in a log. */
function pathOf(request: IncomingMessage): string {
  return splitUrl(request.url ?? "/").path;
}

function isLongRunning(info: RequestInfo): boolean {
  return info.kind === "resource" && info.verb === "watch";
}

function noop(): void {}
