import type { IncomingMessage, ServerResponse } from "node:http";
import { HttpError, type RequestPath, sendJson, sendStream, sendText } from "../../lib/http/http-exchange.ts";
import { type Metrics, metricsContentType } from "../../lib/metrics/metrics.ts";
import { handlePullProgress, type PullProgressDeps } from "../../node-agent/publish/pull-endpoint.ts";
import { runCommand } from "./exec-and-attach.ts";
import { type ContainerLogDeps, openContainerLog } from "./log/container-log.ts";
import { handleSystemLogs } from "./log/system-logs.ts";
import { listRunningPods, listStartupProbes, podList, type StartupProbesDeps } from "./served-pods.ts";

export interface RequestHandlerDeps extends ContainerLogDeps, StartupProbesDeps {
  readonly progress: PullProgressDeps["progress"];
  readonly metrics: Pick<Metrics, "text">;
  /** Directory of the node's logs, served at `/logs/`. Undefined if the configuration disables it. */
  readonly systemLogs: string | undefined;
  readonly health: Readonly<Record<string, HealthCheck>>;
  /** Returns the kubelet's configuration. */
  config(): unknown;
}

interface Exchange {
  readonly path: RequestPath;
  readonly response: ServerResponse;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
}

interface Route {
  /** Allowed method. Undefined allows any, for routes that always reject. */
  readonly method?: "GET" | "POST";
  handle(deps: RequestHandlerDeps, exchange: Exchange): Promise<void> | void;
}

const notFound = () => new HttpError(404, "404 page not found");

/** Routes by the first segment of the path. Upgrade requests are handled in kubelet-server.ts. */
const routes: Readonly<Record<string, Route>> = {
  healthz: { method: "GET", handle: handleHealth },
  metrics: { method: "GET", handle: handleMetrics },
  pods: { method: "GET", handle: ({ pods }, { response }) => sendJson(response, podList([...pods.list()])) },
  runningpods: {
    method: "GET",
    handle: async ({ cri }, { response, signal }) =>
      sendJson(response, podList(await listRunningPods(cri, signal))),
  },
  configz: {
    method: "GET",
    handle: ({ config }, { response }) => sendJson(response, { kubeletconfig: config() }),
  },
  containerLogs: {
    method: "GET",
    async handle(deps, { path, response, signal }) {
      if (path.segments.length !== 4) throw notFound();
      const log = await openContainerLog(deps, path, signal);
      await sendStream(response, log, { type: "text/plain", signal });
    },
  },
  logs: {
    method: "GET",
    handle({ systemLogs }, exchange) {
      if (systemLogs === undefined) throw new HttpError(405, "logs endpoint is disabled.");
      return handleSystemLogs({ systemLogs }, exchange);
    },
  },
  imagePullProgress: { method: "GET", handle: handlePullProgress },
  startupProbes: {
    method: "GET",
    handle(deps, { path, response }) {
      if (path.segments.length !== 3) throw notFound();
      sendJson(response, listStartupProbes(deps, path));
    },
  },
  run: {
    method: "POST",
    handle: async (deps, { path, response, signal }) =>
      sendText(response, await runCommand(deps, path, signal), { type: "application/json" }),
  },
  exec: { handle: rejectWithoutUpgrade },
  attach: { handle: rejectWithoutUpgrade },
  portForward: { handle: rejectWithoutUpgrade },
};

/** Handles a request. Throws an HttpError if the request is rejected before anything was sent. */
export async function handleRequest(
  deps: RequestHandlerDeps,
  request: IncomingMessage,
  exchange: Exchange,
): Promise<void> {
  const [root = ""] = exchange.path.segments;
  const route = Object.hasOwn(routes, root) ? routes[root] : undefined;
  if (!route) throw notFound();
  if (route.method && request.method !== route.method)
    throw new HttpError(405, "Method Not Allowed", { allow: route.method });
  await route.handle(deps, exchange);
}

function handleHealth(
  { health: checks }: RequestHandlerDeps,
  { path: { segments, query }, response }: Exchange,
): void {
  const health =
    segments.length <= 2 && checkHealth(checks, { name: segments[1], verbose: query.has("verbose") });
  if (!health) throw notFound();
  sendText(response, health.text, { code: health.code });
}

/** Serves `/metrics` and, as upstream, `/metrics/probes`. */
function handleMetrics({ metrics }: RequestHandlerDeps, { path: { segments }, response }: Exchange): void {
  const [, group, more] = segments;
  if (more !== undefined || (group !== undefined && group !== "probes")) throw notFound();
  const text = metrics.text((name) => group === undefined || name.startsWith("prober_"));
  sendText(response, text, { type: metricsContentType });
}

function rejectWithoutUpgrade(): void {
  throw new HttpError(400, "Upgrade request required");
}

/** Health check. Returns the problem, or undefined if healthy. */
export type HealthCheck = () => string | undefined;

export interface HealthResponse {
  readonly code: number;
  readonly text: string;
}

/** Runs all checks for `/healthz`, or one for `/healthz/NAME`. Undefined if there is no such check. */
export function checkHealth(
  checks: Readonly<Record<string, HealthCheck>>,
  { name, verbose }: { name?: string; verbose: boolean },
): HealthResponse | undefined {
  const all: [string, HealthCheck][] = [
    ["ping", () => undefined],
    ["log", () => undefined],
    ...Object.entries(checks),
  ];
  const selected = name === undefined ? all : all.filter(([known]) => known === name);
  if (selected.length === 0) return undefined;
  const results = selected.map(([check, run]) => ({ check, problem: run() }));
  const failed = results.some(({ problem }) => problem !== undefined);
  if (!failed && !verbose) return { code: 200, text: "ok" };
  const lines = results.map(({ check, problem }) =>
    problem === undefined ? `[+]${check} ok\n` : `[-]${check} failed: ${problem}\n`,
  );
  return {
    code: failed ? 500 : 200,
    text: `${lines.join("")}healthz check ${failed ? "failed" : "passed"}\n`,
  };
}
