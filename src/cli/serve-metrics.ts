import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../client/client.ts";
import { answerRefusal, createCallerAdmission } from "../client/delegated-auth/admit-caller.ts";
import type { Clock } from "../lib/clock.ts";
import { type Answer, sendAnswer, textAnswer } from "../lib/http/answer.ts";
import { createHttpServer, listenOn } from "../lib/http/http-server.ts";
import { isLocalHost } from "../lib/http/loopback.ts";
import { joinHostPort } from "../lib/join-host-port.ts";
import type { Logger } from "../lib/logger.ts";
import { messageOf } from "../lib/message-of.ts";
import { type Metrics, metricsContentType } from "../lib/metrics.ts";
import { createServingPair } from "../lib/x509/self-signed.ts";
import type { MetricsServing } from "./metrics-options.ts";
import { UsageError } from "./usage-error.ts";

interface ServeDeps {
  readonly metrics: Metrics;
  /** Answers who callers are and what they may do. */
  readonly client: Pick<Client, "request" | "get">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Undefined for whoever may go on. */
type Refuse = (request: IncomingMessage) => Promise<Answer | undefined>;

/** Serves the metrics: by HTTP to whoever is on this machine, by HTTPS to those who may `get /metrics` in the cluster. */
export async function serveMetrics(
  serving: MetricsServing,
  deps: ServeDeps,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { host } = serving.listen;
  const isOpen = serving.kind === "open";
  const refuse = isOpen ? refuseOtherNames(host) : refuseOthers(deps);
  const onRequest: RequestListener = (request, response) => {
    answer(request, refuse, deps.metrics).then(
      (answered) => sendAnswer(response, answered),
      (error: unknown) => {
        deps.logger.error("metrics could not be read", { error });
        sendAnswer(response, textAnswer(500, "It failed; the log has more."));
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
      `--tls-cert-file, --tls-private-key-file or --client-ca-file is no good, or they do not fit: ${messageOf(error)}`,
    );
  }
}

/** Where upstream's API servers publish it for whoever leaves to them who callers are. */
const published = { namespace: "kube-system", name: "extension-apiserver-authentication" };

async function findClientCa({ client, logger }: ServeDeps): Promise<string | undefined> {
  try {
    const { data } = await client.get("configmaps", published, { signal: AbortSignal.timeout(10_000) });
    if (data?.["client-ca-file"]) return data["client-ca-file"];
  } catch (error) {
    logger.debug("the cluster does not say which CA signs its users' certificates", { error });
  }
  logger.info("metrics are served for bearer tokens only; for certificates give --client-ca-file");
  return undefined;
}

function refuseOtherNames(listenHost: string): Refuse {
  return async ({ headers }) =>
    isLocalHost(headers.host, listenHost)
      ? undefined
      : textAnswer(403, "Ask for it by the name localhost or by its address.");
}

function refuseOthers(deps: ServeDeps): Refuse {
  const admit = createCallerAdmission(deps);
  return async ({ socket, headers }) => {
    // Who is not on this machine comes by TLS.
    const credentials = { socket: socket as TLSSocket, authorization: headers.authorization };
    const admission = await admit(credentials, "/metrics");
    return admission.kind === "allowed" ? undefined : answerRefusal(admission, "/metrics");
  };
}

async function answer(request: IncomingMessage, refuse: Refuse, metrics: Metrics): Promise<Answer> {
  const path = (request.url ?? "/").split("?", 1)[0];
  if (request.method !== "GET" && request.method !== "HEAD") {
    return textAnswer(405, "Method Not Allowed", { allow: "GET, HEAD" });
  }
  // As upstream's: whoever asks whether it lives need not be anybody.
  if (path === "/healthz") return textAnswer(200, "ok");
  const refused = await refuse(request);
  if (refused) return refused;
  if (path !== "/metrics") return textAnswer(404, "Not found; there are /metrics and /healthz");
  return { ...textAnswer(200, "", { "content-type": metricsContentType }), body: metrics.text() };
}
