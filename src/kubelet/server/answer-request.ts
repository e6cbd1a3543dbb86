import type { IncomingMessage, ServerResponse } from "node:http";
import { type Metrics, metricsContentType } from "../../lib/metrics.ts";
import { checkHealth, type HealthCheck } from "./check-health.ts";
import { HttpError } from "./http-error.ts";
import { followPulls, type PullProgressDeps, pullsNow } from "./pull-progress.ts";
import { type RequestPath, readFlag } from "./request-path.ts";
import { runCommand } from "./run-command.ts";
import { listRunningPods, podList } from "./running-pods.ts";
import { sendJson, sendStream, sendText } from "./send-body.ts";
import { type ContainerLogDeps, openContainerLog } from "./serve-container-log.ts";
import { type StartupProbesDeps, startupProbesNow } from "./startup-probes.ts";

export interface AnswerDeps extends ContainerLogDeps, PullProgressDeps, StartupProbesDeps {
  readonly metrics: Pick<Metrics, "text">;
  readonly health: Readonly<Record<string, HealthCheck>>;
  /** The kubelet's configuration. */
  config(): unknown;
}

interface Exchange {
  readonly path: RequestPath;
  readonly response: ServerResponse;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

interface Route {
  /** Any, for those that are refused anyway. */
  readonly method?: "GET" | "POST";
  answer(deps: AnswerDeps, exchange: Exchange): Promise<void> | void;
}

const notFound = () => new HttpError(404, "404 page not found");

/** By the first segment of the path. Those that need an upgrade are answered elsewhere when they come with one. */
const routes: Readonly<Record<string, Route>> = {
  healthz: { method: "GET", answer: answerHealth },
  metrics: { method: "GET", answer: answerMetrics },
  pods: { method: "GET", answer: ({ pods }, { response }) => sendJson(response, podList([...pods.list()])) },
  runningpods: {
    method: "GET",
    answer: async ({ cri }, { response, signal }) =>
      sendJson(response, podList(await listRunningPods(cri, signal))),
  },
  configz: {
    method: "GET",
    answer: ({ config }, { response }) => sendJson(response, { kubeletconfig: config() }),
  },
  containerLogs: {
    method: "GET",
    async answer(deps, { path, response, signal }) {
      if (path.segments.length !== 4) throw notFound();
      const log = await openContainerLog(deps, path, signal);
      await sendStream(response, log, { type: "text/plain", signal });
    },
  },
  imagePullProgress: { method: "GET", answer: answerPullProgress },
  startupProbes: {
    method: "GET",
    answer(deps, { path, response }) {
      if (path.segments.length !== 3) throw notFound();
      sendJson(response, startupProbesNow(deps, path));
    },
  },
  run: {
    method: "POST",
    answer: async (deps, { path, response, signal }) =>
      sendText(response, await runCommand(deps, path, signal), { type: "application/json" }),
  },
  exec: { answer: refuseWithoutUpgrade },
  attach: { answer: refuseWithoutUpgrade },
  portForward: { answer: refuseWithoutUpgrade },
};

/** Throws what the request is refused with, as long as nothing was sent. */
export async function answerRequest(
  deps: AnswerDeps,
  request: IncomingMessage,
  exchange: Exchange,
): Promise<void> {
  const [root = ""] = exchange.path.segments;
  const route = Object.hasOwn(routes, root) ? routes[root] : undefined;
  if (!route) throw notFound();
  if (route.method && request.method !== route.method)
    throw new HttpError(405, "Method Not Allowed", { allow: route.method });
  await route.answer(deps, exchange);
}

function answerHealth({ health }: AnswerDeps, { path: { segments, query }, response }: Exchange): void {
  const answer =
    segments.length <= 2 && checkHealth(health, { name: segments[1], verbose: query.has("verbose") });
  if (!answer) throw notFound();
  sendText(response, answer.text, { code: answer.code });
}

/** Probes have a page of their own upstream too. */
function answerMetrics({ metrics }: AnswerDeps, { path: { segments }, response }: Exchange): void {
  const [, page, more] = segments;
  if (more !== undefined || (page !== undefined && page !== "probes")) throw notFound();
  const text = metrics.text((name) => page === undefined || name.startsWith("prober_"));
  sendText(response, text, { type: metricsContentType });
}

async function answerPullProgress(deps: AnswerDeps, { path, response, signal }: Exchange): Promise<void> {
  if (path.segments.length !== 3) throw notFound();
  if (!readFlag(path.query, "watch")) return sendJson(response, pullsNow(deps, path));
  const changes = followPulls(deps, path, signal);
  await sendStream(response, changes, { type: "application/json", signal });
}

function refuseWithoutUpgrade(): void {
  throw new HttpError(400, "Upgrade request required");
}
