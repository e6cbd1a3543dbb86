import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Option } from "commander";
import { type Metrics, metricsContentType } from "../lib/metrics.ts";
import { stoppable } from "../lib/stoppable.ts";
import { type Answer, sendAnswer, textAnswer } from "../monitor/server/answer.ts";
import { isLocalHost, isLoopback } from "../monitor/server/loopback.ts";
import { type ListenAddress, parseListenAddress } from "./listen-option.ts";
import { UsageError } from "./usage-error.ts";

/** `--metrics-listen HOST:PORT`. */
export const metricsListenOption = () =>
  new Option(
    "--metrics-listen <host:port>",
    "serve /metrics and /healthz there, on loopback only; port 0 picks a free one (default: not served)",
  ).argParser(parseListenAddress);

/**
 * Serves the metrics to whoever is on this machine. Elsewhere they would need TLS and somebody to ask who may read them:
 * whoever wants them there forwards them.
 */
export async function serveMetrics(
  listen: ListenAddress,
  metrics: Metrics,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  if (!isLoopback(listen.host)) {
    throw new UsageError(
      `--metrics-listen ${listen.host}:${listen.port}: metrics are served on loopback only, without TLS: use 127.0.0.1:${listen.port}`,
    );
  }
  const server = createServer({ headersTimeout: 20_000, requestTimeout: 30_000 }, (request, response) =>
    sendAnswer(response, answer(request, listen.host, metrics)),
  );
  server.maxConnections = 50;
  const close = stoppable(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(listen.port, listen.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return { url: `http://${host}:${port}`, close };
}

function answer(
  { url = "/", method, headers }: IncomingMessage,
  listenHost: string,
  metrics: Metrics,
): Answer {
  if (!isLocalHost(headers.host, listenHost)) {
    return textAnswer(403, "Ask for it by the name localhost or by its address.");
  }
  if (method !== "GET" && method !== "HEAD") {
    return textAnswer(405, "Method Not Allowed", { allow: "GET, HEAD" });
  }
  switch (url.split("?", 1)[0]) {
    case "/healthz":
      return textAnswer(200, "ok");
    case "/metrics":
      return { ...textAnswer(200, "", { "content-type": metricsContentType }), body: metrics.text() };
    default:
      return textAnswer(404, "Not found; there are /metrics and /healthz");
  }
}
