import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { Duplex } from "node:stream";
import { badRequest } from "../../api/status-error.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Answer, ApiRequest } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { ApiMetrics } from "../metrics.ts";
import { parseRequest, type RequestInfo } from "../request-info.ts";
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
  admitCaller(request: IncomingMessage, info: RequestInfo, query: URLSearchParams): Promise<UserInfo>;
  answer(request: ApiRequest): Promise<Answer>;
  /** Requests whose bytes go to a kubelet: undefined for all others. */
  proxy(info: RequestInfo): KubeletProxy | undefined;
}

const noQuery = new URLSearchParams();

/** The HTTPS server: turns requests into answers and answers into bytes. */
export function createApiListener(deps: ListenerDeps): Server {
  const { logger, metrics } = deps;
  const inFlight = createInFlight();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    let info: RequestInfo | undefined;
    let dryRun = false;
    try {
      const { path, query } = splitUrl(request.url ?? "/");
      dryRun = query.has("dryRun");
      info = parseRequest(request.method ?? "GET", path, query);
      if (!info) throw badRequest("the path of the request is not valid percent-encoding");
      // The body is read only once it is known that its sender may send it.
      const user = await deps.admitCaller(request, info, query);
      const proxy = deps.proxy(info);
      if (proxy) return await proxy.request(request, response, query);
      const leave = isLongRunning(info) ? noop : inFlight.enter(request.method === "GET" ? "read" : "write");
      try {
        await respond(
          {
            method: request.method ?? "GET",
            info,
            query,
            headers: request.headers,
            user,
            readBody: () => readBody(request),
          },
          response,
        );
      } finally {
        leave();
      }
    } catch (error) {
      const failure = toStatusError(error);
      if (failure.code >= 500)
        logger.error("request failed", { method: request.method, path: pathOf(request), error });
      await sendError(response, failure, request.headers);
    } finally {
      const seconds = (performance.now() - startedAt) / 1_000;
      if (info) metrics.observe(info, { code: response.statusCode, seconds, dryRun });
      if (logger.debugging) {
        logger.debug("request", {
          method: request.method,
          path: pathOf(request),
          code: response.statusCode,
          ms: seconds * 1_000,
        });
      }
    }
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
    (request, response) => void serve(request, response),
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

function splitUrl(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf("?");
  if (mark === -1) return { path: url, query: noQuery };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

/** Without the query: it may hold what does not belong in a log. */
function pathOf(request: IncomingMessage): string {
  return splitUrl(request.url ?? "/").path;
}

function isLongRunning(info: RequestInfo): boolean {
  return info.kind === "resource" && info.verb === "watch";
}

function noop(): void {}
