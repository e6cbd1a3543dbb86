import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../lib/clock.ts";
import { type Answer, textAnswer } from "../../../lib/http/answer.ts";
import type { Gate } from "./gate.ts";
import { loginPage } from "./login-page.ts";
import { describeRefusal, faultOf } from "./refusal.ts";
import { clearSessionCookie, setSessionCookie } from "./session-cookie.ts";

/** Service account tokens have one or two thousand characters. */
const longestBody = 16_384;

const codes = { unknown: 401, forbidden: 403, unavailable: 503 } as const;

/** Browsers cannot send a bearer token with what streams: a form takes it once and answers with a cookie. */
export async function answerLogin(
  { gate, clock }: { readonly gate: Gate; readonly clock: Pick<Clock, "now"> },
  request: IncomingMessage,
): Promise<Answer> {
  if (request.method !== "POST") return loginPage(200);
  if (!isSameOrigin(request)) return textAnswer(403, "This form belongs to another page.");
  // Of those that do not say how long they are, none needs to be let through.
  if (!(Number(request.headers["content-length"]) <= longestBody)) {
    return loginPage(413, "That is too long for a token: paste the token alone.");
  }
  const pasted = new URLSearchParams(await readBody(request)).get("token") ?? "";
  const token = pasted.trim().replace(/^bearer\s+/i, "");
  const fault = faultOf(token);
  if (fault) return loginPage(400, fault);
  const outcome = await gate.logIn(token);
  if (outcome.kind !== "allowed") {
    return loginPage(codes[outcome.kind], describeRefusal(outcome, { token, now: clock.now() }));
  }
  return textAnswer(303, "Logged in.", { location: "/", "set-cookie": setSessionCookie(outcome.cookie) });
}

export function answerLogout(gate: Gate, request: IncomingMessage): Answer {
  if (!isSameOrigin(request)) return textAnswer(403, "This form belongs to another page.");
  gate.logOut(request);
  return textAnswer(303, "Logged out.", { location: "/login", "set-cookie": clearSessionCookie() });
}

/**
 * Nobody else's page may log a browser in or out. Browsers say where a form comes from; those who do not are none. Where
 * a page asks for no referrer, as ours do, the origin of its own forms is `null`.
 */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return headers.origin === undefined || headers.origin === `https://${headers.host}`;
}

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
