import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../../client/api/client.ts";
import {
  authorizationFailureResponse,
  createCallerAuthorizer,
} from "../../client/delegated-auth/authorize-caller.ts";
import type { Clock } from "../../lib/clock.ts";
import { type HttpResponse, sendResponse, textResponse } from "../../lib/http/http-exchange.ts";
import { createHttpServer, listenOn } from "../../lib/http/http-server.ts";
import { isLocalHost } from "../../lib/http/loopback.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";
import { type Metrics, metricsContentType } from "../../lib/metrics/metrics.ts";
import { createServingPair } from "../../lib/x509/certificate.ts";
import { UsageError } from "../options/command-errors.ts";
import type { MetricsServing } from "../options/metrics-options.ts";

interface ServeDeps {
  readonly metrics: Metrics;
  /** Client for token and access reviews. */
  readonly client: Pick<Client, "request" | "get">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the component can do its work, served at `/ready`. Default: always. */
  readonly isReady?: () => boolean;
}

/** Undefined if the request is allowed. */
type Reject = (request: IncomingMessage) => Promise<HttpResponse | undefined>;

/** Serves metrics: on loopback over HTTP, otherwise over HTTPS for users who may `get /metrics` in the cluster. */
export async function serveMetrics(
  serving: MetricsServing,
  deps: ServeDeps,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { host } = serving.listen;
  const isOpen = serving.kind === "open";
  const reject = isOpen ? rejectOtherNames(host) : rejectOthers(deps);
  const onRequest: RequestListener = (request, response) => {
    answer(request, reject, deps).then(
      (answered) => sendResponse(response, answered),
      (error: unknown) => {
        deps.logger.error("failed to serve metrics", { error });
        sendResponse(response, textResponse(500, "Internal error; see the log."));
      },
    );
  };
  const { logger } = deps;
  const server = isOpen ? createHttpServer({ maxConnections, logger }) : await createSecure(serving, deps);
  server.on("request", onRequest);
  const { port, close } = await listenOn(server, serving.listen);
  return { url: `${isOpen ? "http" : "https"}://${joinHostPort(host, port)}`, close };
}

const maxConnections = 50;

async function createSecure(
  { listen: { host }, tls, clientCa }: Extract<MetricsServing, { kind: "guarded" }>,
  deps: ServeDeps,
): Promise<Server> {
  const ca = clientCa ?? (await findClientCa(deps));
  const pair = tls ?? createServingPair({ commonName: "kindling", host, now: deps.clock.now() });
  try {
    return createHttpServer({ tls: { ...pair, clientCa: ca }, maxConnections, logger: deps.logger });
  } catch (error) {
    throw new UsageError(
      `--tls-cert-file, --tls-private-key-file or --client-ca-file is invalid, or certificate and key do not match: ${messageOf(error)}`,
    );
  }
}

/** ConfigMap in which upstream's API servers publish their client CA. */
const published = { namespace: "kube-system", name: "extension-apiserver-authentication" };

/** Client CA that the cluster publishes. Undefined if it does not, or if this process may not read it. */
export async function findClientCa({
  client,
  logger,
}: Pick<ServeDeps, "logger"> & { readonly client: Pick<Client, "get"> }): Promise<string | undefined> {
  try {
    const { data } = await client.get("configmaps", published, { signal: AbortSignal.timeout(10_000) });
    if (data?.["client-ca-file"]) return data["client-ca-file"];
  } catch (error) {
    logger.debug("the cluster does not publish its client CA", { error });
  }
  logger.info("metrics accept only bearer tokens; to accept client certificates set --client-ca-file");
  return undefined;
}

function rejectOtherNames(listenHost: string): Reject {
  return async ({ headers }) =>
    isLocalHost(headers.host, listenHost)
      ? undefined
      : textResponse(403, "The Host header must be localhost or the address of this server.");
}

function rejectOthers(deps: ServeDeps): Reject {
  const admit = createCallerAuthorizer(deps);
  return async ({ socket, headers }) => {
    // Requests from other machines use TLS.
    const credentials = { socket: socket as TLSSocket, authorization: headers.authorization };
    const admission = await admit(credentials, "/metrics");
    return admission.kind === "allowed" ? undefined : authorizationFailureResponse(admission, "/metrics");
  };
}

async function answer(
  request: IncomingMessage,
  reject: Reject,
  { metrics, isReady = () => true }: ServeDeps,
): Promise<HttpResponse> {
  const path = (request.url ?? "/").split("?", 1)[0];
  if (request.method !== "GET" && request.method !== "HEAD") {
    return textResponse(405, "Method Not Allowed", { allow: "GET, HEAD" });
  }
  // Like upstream, health checks need no authentication.
  if (path === "/healthz" || path === "/health") return textResponse(200, "ok");
  if (path === "/ready") return isReady() ? textResponse(200, "ok") : textResponse(503, "not ready");
  const refused = await reject(request);
  if (refused) return refused;
  if (path !== "/metrics") return textResponse(404, "Not found; the paths are /metrics, /healthz and /ready");
  return { ...textResponse(200, "", { "content-type": metricsContentType }), body: metrics.text() };
}
