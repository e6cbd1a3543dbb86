import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { authorizationFailureResponse } from "../../client/delegated-auth/authorize-caller.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { type HttpResponse, jsonResponse, sendResponse, textResponse } from "../../lib/http/http-exchange.ts";
import { isLocalHost } from "../../lib/http/loopback.ts";
import { handleLogin, handleLogout, loginStyle } from "./auth/login.ts";
import type { GuardedPath, RequestAuthorizer } from "./auth/request-authorizer.ts";
import type { ServeFile } from "./static-files.ts";

/** Sources of the monitor's HTTP server. */
export interface MonitorParts {
  /**
   * Subscribes to the dashboard feed. Undefined if the maximum number of subscribers is reached. `onDisconnected` is
   * called when the subscriber is too slow.
   */
  subscribe(signal: AbortSignal, onDisconnected: () => void): AsyncIterable<string> | undefined;
  /** Renders the metrics in a format that the `Accept` header allows. */
  scrape(accept: string | undefined): { readonly contentType: string; readonly body: string | Buffer };
  /** State of the objectives, served at `/api/report`. */
  report(): unknown;
}

export interface RequestHandlerDeps {
  readonly listenHost: string;
  /** Undefined on loopback, where requests are not authenticated. */
  readonly authorizer: RequestAuthorizer | undefined;
  readonly serveFile: ServeFile;
  readonly parts: MonitorParts | Promise<MonitorParts>;
  readonly clock: Clock;
}

/** Maximum age of a feed's last successful review while the API server cannot be reached. */
const unreviewedMaxMs = 15 * 60_000;

export async function handleRequest(
  deps: RequestHandlerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
  if (!deps.authorizer && !isLocalHost(request.headers.host, deps.listenHost)) {
    return sendResponse(
      response,
      textResponse(403, "The Host header must be localhost or the address of this server."),
    );
  }
  if (path === "/healthz") return sendResponse(response, textResponse(200, "ok"));
  const earlyResponse =
    (await handleAuthRoutes(deps, request, path)) ??
    checkMethod(request) ??
    (await checkAccess(deps.authorizer, request, path));
  if (earlyResponse) return sendResponse(response, earlyResponse);
  if (path === "/api/feed" && request.method === "GET") return serveFeed(deps, request, response);
  sendResponse(response, await handleResource(deps, request, path));
}

async function handleAuthRoutes(
  { authorizer, clock, serveFile }: RequestHandlerDeps,
  request: IncomingMessage,
  path: string,
): Promise<HttpResponse | undefined> {
  if (!authorizer) return undefined;
  if (path === "/login" && ["GET", "HEAD", "POST"].includes(request.method ?? ""))
    return handleLogin({ authorizer, clock }, request);
  if (path === loginStyle && checkMethod(request) === undefined)
    return respondWithFile(serveFile, request, path);
  if (path === "/logout" && request.method === "POST") return handleLogout(authorizer, request);
  return undefined;
}

function checkMethod({ method }: IncomingMessage): HttpResponse | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  return textResponse(405, "Method Not Allowed", { allow: "GET, HEAD" });
}

function guardedPathOf(path: string): GuardedPath {
  return path === "/metrics" ? "/metrics" : "/kindling/dashboard";
}

/** Authenticates and authorizes the request. Undefined if it is allowed. */
async function checkAccess(
  authorizer: RequestAuthorizer | undefined,
  request: IncomingMessage,
  path: string,
): Promise<HttpResponse | undefined> {
  if (!authorizer) return undefined;
  const decision = await authorizer.authorize(request, guardedPathOf(path));
  if (decision.kind === "allowed") return undefined;
  if (decision.kind === "unauthenticated" && path === "/")
    return textResponse(303, "Log in.", { location: "/login" });
  return authorizationFailureResponse(decision, guardedPathOf(path));
}

async function handleResource(
  deps: RequestHandlerDeps,
  request: IncomingMessage,
  path: string,
): Promise<HttpResponse> {
  switch (path) {
    case "/metrics": {
      const { contentType, body } = (await deps.parts).scrape(request.headers.accept);
      return { ...textResponse(200, "", { "content-type": contentType }), body };
    }
    case "/api/report":
      return jsonResponse((await deps.parts).report());
    default:
      return respondWithFile(deps.serveFile, request, path);
  }
}

async function respondWithFile(
  serveFile: ServeFile,
  { headers }: IncomingMessage,
  path: string,
): Promise<HttpResponse> {
  const { "accept-encoding": encodings, "if-none-match": ifNoneMatch } = headers;
  const acceptEncoding = Array.isArray(encodings) ? encodings.join() : encodings;
  return (await serveFile({ path, acceptEncoding, ifNoneMatch })) ?? textResponse(404, "Not found");
}

async function serveFeed(
  deps: RequestHandlerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { authorizer, clock } = deps;
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the client closed the connection")));
  const { signal } = gone;
  const messages = (await deps.parts).subscribe(signal, () => response.destroy());
  if (!messages) {
    return sendResponse(
      response,
      textResponse(503, "The maximum number of viewers is reached; try again later.", {
        "retry-after": "30",
      }),
    );
  }
  let allowedMs = clock.now();
  const isStillAllowed = async () => {
    const { kind } = (await authorizer?.authorize(request, "/kindling/dashboard")) ?? { kind: "allowed" };
    if (kind === "allowed") allowedMs = clock.now();
    // Feeds stay open during an outage of the API server, when the dashboard is most useful.
    return kind === "allowed" || (kind === "unavailable" && clock.now() - allowedMs < unreviewedMaxMs);
  };
  // The page cannot read its HttpOnly cookie.
  if (authorizer?.hasSession(request)) response.setHeader("kindling-session", "open");
  await sendFeed(response, { messages, isStillAllowed, clock, signal });
}

interface SendFeedOptions {
  readonly messages: AsyncIterable<string>;
  /** Whether the caller is still authorized; checked with each heartbeat. */
  isStillAllowed(): Promise<boolean>;
  readonly clock: Clock;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
}

const heartbeatMs = 15_000;
/** Time within which a client must read one piece. */
const drainTimeoutMs = 30_000;
/** Maximum data buffered per client; a snapshot is far longer, but its text is shared by all clients. */
const maxPieceLength = 65_536;

/** Sends messages as server-sent events until the client disconnects, is too slow or is no longer authorized. */
async function sendFeed(response: ServerResponse, options: SendFeedOptions): Promise<void> {
  const { messages, clock, signal } = options;
  let isWithinMessage = false;

  async function write(text: string): Promise<void> {
    if (response.write(text)) return;
    await withDeadline({ clock, timeoutMs: drainTimeoutMs, signal }, (limited) =>
      once(response, "drain", { signal: limited }),
    );
  }

  /** Sends comments periodically, so that clients and proxies do not time out. */
  async function sendHeartbeats(): Promise<void> {
    for (;;) {
      await clock.sleep(heartbeatMs, signal);
      if (!(await options.isStillAllowed())) return void response.destroy();
      if (!isWithinMessage && !response.writableNeedDrain) response.write(": still here\n\n");
    }
  }

  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 2000\n\n");
  // Ends when the client disconnects.
  const heartbeats = sendHeartbeats().catch(() => {});
  try {
    for await (const message of messages) {
      isWithinMessage = true;
      // JSON contains no line breaks.
      await write("data: ");
      for (const piece of splitText(message)) await write(piece);
      await write("\n\n");
      isWithinMessage = false;
    }
  } catch {
    // The client disconnected or is too slow.
  } finally {
    response.destroy();
    await heartbeats;
  }
}

/** Splits a text into pieces that are encoded separately, without cutting surrogate pairs. */
export function* splitText(text: string, length = maxPieceLength): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isCut = /[\ud800-\udbff]/.test(text.charAt(from + length - 1));
    const to = from + length + (isCut ? 1 : 0);
    yield text.slice(from, to);
    from = to;
  }
}
