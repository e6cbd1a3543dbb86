import type { IncomingMessage } from "node:http";
import { type Answer, htmlAnswer, textAnswer } from "../answer.ts";
import { loginPolicy } from "../security-headers.ts";
import type { Admission, Gate } from "./gate.ts";
import { clearSessionCookie, setSessionCookie } from "./session-cookie.ts";

/** Service account tokens have one or two thousand characters. */
const longestBody = 16_384;

/** Browsers cannot send a bearer token with what streams: a form takes it once and answers with a cookie. */
export async function answerLogin(gate: Gate, request: IncomingMessage): Promise<Answer> {
  if (request.method !== "POST") return loginPage(200, "");
  if (!isSameOrigin(request)) return textAnswer(403, "This form belongs to another page.");
  // Of those that do not say how long they are, none needs to be let through.
  if (!(Number(request.headers["content-length"]) <= longestBody)) return textAnswer(413, "Too long.");
  const token = new URLSearchParams(await readBody(request)).get("token")?.trim();
  if (!token || /\s/.test(token)) return loginPage(400, "Paste a token.");
  const { cookie, ...admission } = await gate.logIn(token);
  if (!cookie) return refuse(admission);
  return textAnswer(303, "Logged in.", { location: "/", "set-cookie": setSessionCookie(cookie) });
}

export function answerLogout(gate: Gate, request: IncomingMessage): Answer {
  if (!isSameOrigin(request)) return textAnswer(403, "This form belongs to another page.");
  gate.logOut(request);
  return textAnswer(303, "Logged out.", { location: "/login", "set-cookie": clearSessionCookie() });
}

function refuse(admission: Admission): Answer {
  switch (admission.kind) {
    case "forbidden":
      return loginPage(403, "The cluster knows this token, but it may not get /kindling/dashboard.");
    case "unavailable":
      return loginPage(503, "The cluster cannot be asked about the token just now.");
    default:
      return loginPage(401, "The cluster does not know this token.");
  }
}

/** Nobody else's page may log a browser in or out. Browsers say where a form comes from; those who do not are none. */
function isSameOrigin({ headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined) return headers.origin === `https://${headers.host}`;
  const site = headers["sec-fetch-site"];
  return site === undefined || site === "same-origin";
}

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** No word of a caller is in it: there is nothing to escape. */
function loginPage(code: number, problem: string): Answer {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Kindling</title>
<h1>Kindling</h1>
<form method="post" action="/login">
<p><label for="token">A bearer token of the cluster, such as
<code>kubectl create token NAME</code> makes</label></p>
<p><input id="token" name="token" type="password" required autofocus autocomplete="off" size="60"></p>
<p role="alert">${problem}</p>
<p><button>Log in</button></p>
</form>
</html>
`;
  return htmlAnswer(code, html, { "content-security-policy": loginPolicy });
}
