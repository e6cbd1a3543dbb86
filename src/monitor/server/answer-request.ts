import type { IncomingMessage, ServerResponse } from "node:http";
import { answerRefusal } from "../../client/delegated-auth/admit-caller.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Answer, jsonAnswer, sendAnswer, textAnswer } from "../../lib/http/answer.ts";
import { isLocalHost } from "../../lib/http/loopback.ts";
import type { Gate, Guarded } from "./auth/gate.ts";
import { answerLogin, answerLogout } from "./auth/login.ts";
import { loginStyle } from "./auth/login-page.ts";
import type { AnswerFile } from "./page-files.ts";
import { sendFeed } from "./send-feed.ts";

/** What the monitor has to tell. */
export interface MonitorParts {
  /** What the page shows, message by message; undefined when too many look already. Who is far too slow is dismissed. */
  follow(signal: AbortSignal, onDismissed: () => void): AsyncIterable<string> | undefined;
  /** The metrics in a format that the `Accept` header allows. */
  scrape(accept: string | undefined): { readonly contentType: string; readonly body: string | Buffer };
  /** How the objectives are met: what `/api/report` shows. */
  report(): unknown;
}

export interface AnswerDeps {
  readonly listenHost: string;
  /** None on loopback. */
  readonly gate: Gate | undefined;
  readonly answerFile: AnswerFile;
  readonly parts: MonitorParts | Promise<MonitorParts>;
  readonly clock: Clock;
}

/** A feed outlives the last good answer about its reader by this much, while there is no answer at all. */
const unaskedMs = 15 * 60_000;

export async function answerRequest(
  deps: AnswerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
  if (!deps.gate && !isLocalHost(request.headers.host, deps.listenHost)) {
    return sendAnswer(response, textAnswer(403, "Ask for it by the name localhost or by its address."));
  }
  if (path === "/healthz") return sendAnswer(response, textAnswer(200, "ok"));
  const answer =
    (await answerDoor(deps, request, path)) ??
    refuseMethod(request) ??
    (await checkAdmission(deps.gate, request, path));
  if (answer) return sendAnswer(response, answer);
  if (path === "/api/feed" && request.method === "GET") return answerFeed(deps, request, response);
  sendAnswer(response, await answerPage(deps, request, path));
}

async function answerDoor(
  { gate, clock, answerFile }: AnswerDeps,
  request: IncomingMessage,
  path: string,
): Promise<Answer | undefined> {
  if (!gate) return undefined;
  if (path === "/login" && ["GET", "HEAD", "POST"].includes(request.method ?? ""))
    return answerLogin({ gate, clock }, request);
  if (path === loginStyle && refuseMethod(request) === undefined) return findFile(answerFile, request, path);
  if (path === "/logout" && request.method === "POST") return answerLogout(gate, request);
  return undefined;
}

function refuseMethod({ method }: IncomingMessage): Answer | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  return textAnswer(405, "Method Not Allowed", { allow: "GET, HEAD" });
}

function guardOf(path: string): Guarded {
  return path === "/metrics" ? "/metrics" : "/kindling/dashboard";
}

/** Undefined for whoever may go on. */
async function checkAdmission(
  gate: Gate | undefined,
  request: IncomingMessage,
  path: string,
): Promise<Answer | undefined> {
  if (!gate) return undefined;
  const admission = await gate.admit(request, guardOf(path));
  if (admission.kind === "allowed") return undefined;
  if (admission.kind === "unknown" && path === "/") return textAnswer(303, "Log in.", { location: "/login" });
  return answerRefusal(admission, guardOf(path));
}

async function answerPage(deps: AnswerDeps, request: IncomingMessage, path: string): Promise<Answer> {
  switch (path) {
    case "/metrics": {
      const { contentType, body } = (await deps.parts).scrape(request.headers.accept);
      return { ...textAnswer(200, "", { "content-type": contentType }), body };
    }
    case "/api/report":
      return jsonAnswer((await deps.parts).report());
    default:
      return findFile(deps.answerFile, request, path);
  }
}

async function findFile(answerFile: AnswerFile, { headers }: IncomingMessage, path: string): Promise<Answer> {
  const { "accept-encoding": encodings, "if-none-match": ifNoneMatch } = headers;
  const acceptEncoding = Array.isArray(encodings) ? encodings.join() : encodings;
  return (await answerFile({ path, acceptEncoding, ifNoneMatch })) ?? textAnswer(404, "Not found");
}

async function answerFeed(
  deps: AnswerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { gate, clock } = deps;
  const gone = new AbortController();
  response.once("close", () => gone.abort(new Error("the client went away")));
  const { signal } = gone;
  const messages = (await deps.parts).follow(signal, () => response.destroy());
  if (!messages) {
    return sendAnswer(response, textAnswer(503, "Too many look already.", { "retry-after": "30" }));
  }
  let allowedMs = clock.now();
  const isStillAllowed = async () => {
    const { kind } = (await gate?.admit(request, "/kindling/dashboard")) ?? { kind: "allowed" };
    if (kind === "allowed") allowedMs = clock.now();
    // Nobody is shut out because the cluster cannot be asked for a while: it is then that the page is needed.
    return kind === "allowed" || (kind === "unavailable" && clock.now() - allowedMs < unaskedMs);
  };
  // The page cannot see its own cookie.
  if (gate?.hasSession(request)) response.setHeader("kindling-session", "open");
  await sendFeed(response, { messages, isStillAllowed, clock, signal });
}
