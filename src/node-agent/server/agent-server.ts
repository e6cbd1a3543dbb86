// Clauses: 3542-14
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "../../client/api/client.ts";
import { createRequestAuthorizer } from "../../client/delegated-auth/authorize-node-request.ts";
import type { Clock } from "../../lib/clock.ts";
import { HttpError, parsePath, sendError, sendText } from "../../lib/http/http-exchange.ts";
import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type Metrics, metricsContentType } from "../../lib/metrics/metrics.ts";
import { createServingPair } from "../../lib/x509/certificate.ts";
import { handlePullProgress, type PullProgressDeps } from "../publish/pull-endpoint.ts";

/** Port on which clients expect the agent. */
export const defaultAgentPort = 10265;

/** Address and certificates of the agent's server. */
export interface AgentServing {
  readonly listen: { readonly host: string; readonly port: number };
  /** Serving certificate. Defaults to a new self-signed one. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
  /** CA that signs client certificates. Without it only bearer tokens are accepted. */
  readonly clientCa?: Buffer | string;
}

interface AgentServerOptions extends AgentServing, PullProgressDeps {
  readonly nodeName: string;
  /** Client for token and access reviews. */
  readonly client: Pick<Client, "request">;
  readonly metrics: Pick<Metrics, "text">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts the HTTPS server: `/imagePullProgress/NAMESPACE/POD` and `/metrics` for users with access, and `/healthz`. */
export async function startAgentServer(
  options: AgentServerOptions,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const { listen, nodeName, clock, logger, clientCa } = options;
  const tls = options.tls ?? createServingPair({ commonName: nodeName, host: listen.host, now: clock.now() });
  const authorize = createRequestAuthorizer({
    client: options.client,
    clock,
    logger,
    nodeName,
    authentication: { agentTokens: true },
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = parsePath(request.url ?? "/");
    const [root = ""] = path.segments;
    const gone = new AbortController();
    response.once("close", () => gone.abort(new Error("the client closed the connection")));
    // No endpoint reads a request body.
    request.resume();
    if (request.method !== "GET") throw new HttpError(405, "Method Not Allowed", { allow: "GET" });
    // As in the control plane, health checks need no authentication.
    if (root === "healthz" && path.segments.length === 1) return sendText(response, "ok");
    await authorize(request, root);
    if (root === "imagePullProgress")
      return handlePullProgress(options, { path, response, signal: gone.signal });
    if (root === "metrics" && path.segments.length === 1)
      return sendText(response, options.metrics.text(), { type: metricsContentType });
    throw new HttpError(404, "404 page not found");
  }

  const server = createHttpServer({ tls: { ...tls, clientCa }, maxConnections: 100, logger });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void serve(request, response).catch((error: unknown) => {
      // A partial response is cut off, so that the client does not take it for a complete one.
      if (response.headersSent) return void response.destroy();
      if (!(error instanceof HttpError)) logger.error("request failed", { error });
      sendError(response, error instanceof HttpError ? error : new HttpError(500, messageOf(error)));
    });
  });
  return listenOn(server, listen);
}
