import type { IncomingMessage } from "node:http";
import type { AuthorizationFailure } from "../../../client/delegated-auth/authorize-caller.ts";
import type { Clock } from "../../../lib/clock.ts";
import { type HttpResponse, htmlResponse, textResponse } from "../../../lib/http/http-exchange.ts";
import { humanDuration } from "../../../lib/human-duration.ts";
import { loginPolicy } from "../static-files.ts";
import { clearSessionCookie, type RequestAuthorizer, setSessionCookie } from "./request-authorizer.ts";

/** Service account tokens have one or two thousand characters. */
const maxBodyBytes = 16_384;

const codes = { unauthenticated: 401, forbidden: 403, unavailable: 503 } as const;

/** Exchanges a token for a session cookie, because browsers cannot send a bearer token with a page or an event stream. */
export async function handleLogin(
  { authorizer, clock }: { readonly authorizer: RequestAuthorizer; readonly clock: Pick<Clock, "now"> },
  request: IncomingMessage,
): Promise<HttpResponse> {
  if (request.method !== "POST") return loginPage(200);
  if (!isSameOrigin(request)) return textResponse(403, "Cross-origin form submissions are rejected.");
  // Bodies without a content length are rejected too.
  if (!(Number(request.headers["content-length"]) <= maxBodyBytes)) {
    return loginPage(413, "The input is too long for a token. Paste only the token.");
  }
  const pasted = new URLSearchParams(await readBody(request)).get("token") ?? "";
  const token = pasted.trim().replace(/^bearer\s+/i, "");
  const problem = tokenProblem(token);
  if (problem) return loginPage(400, problem);
  const outcome = await authorizer.logIn(token);
  if (outcome.kind !== "allowed") {
    return loginPage(codes[outcome.kind], describeRefusal(outcome, { token, now: clock.now() }));
  }
  return textResponse(303, "Logged in.", { location: "/", "set-cookie": setSessionCookie(outcome.cookie) });
}

export function handleLogout(authorizer: RequestAuthorizer, request: IncomingMessage): HttpResponse {
  if (!isSameOrigin(request)) return textResponse(403, "Cross-origin form submissions are rejected.");
  authorizer.logOut(request);
  return textResponse(303, "Logged out.", { location: "/login", "set-cookie": clearSessionCookie() });
}

/**
 * Rejects forms of other sites. Browsers send the origin of a form; clients that send none are not browsers. The origin
 * is `null` for pages with the referrer policy no-referrer.
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

/** Describes a problem of the pasted text that is visible without a TokenReview. Undefined if there is none. */
export function tokenProblem(pasted: string): string | undefined {
  if (pasted === "") return "The token is empty. Paste a token.";
  if (/\s/.test(pasted)) return "A token contains no spaces or line breaks. Paste only the token.";
  return undefined;
}

/** Explains why a token was rejected and what to do. */
export function describeRefusal(
  refusal: AuthorizationFailure,
  { token, now }: { readonly token: string; readonly now: number },
): string {
  switch (refusal.kind) {
    case "forbidden":
      return `User ${refusal.user} is not allowed to see this dashboard. Ask a cluster administrator for permission to get the non-resource URL /kindling/dashboard.`;
    case "unavailable":
      return "The API server cannot be reached to verify the token. Try again in a moment.";
    case "unauthenticated": {
      const expiryMs = expiryOf(token);
      if (expiryMs !== undefined && expiryMs <= now) {
        return `This token expired ${humanDuration(now - expiryMs)} ago. Create a new one.`;
      }
      return "The cluster does not accept this token. It is incomplete, was revoked, or belongs to another cluster.";
    }
  }
}

/** Expiry claim of a token. It is not verified and only used for messages. */
function expiryOf(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const isObject = typeof claims === "object" && claims !== null;
    if (isObject && "exp" in claims && typeof claims.exp === "number") return claims.exp * 1_000;
  } catch {
    // Not every token is a JWT.
  }
  return undefined;
}

/** Path of the login page's stylesheet, which is served without authentication. */
export const loginStyle = "/login.css";

/** Login page with a form for a token. It works without scripts. */
function loginPage(code: number, problem?: string): HttpResponse {
  const isWrong = problem !== undefined;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${isWrong ? "Not logged in" : "Log in"} · Kindling</title>
<link rel="stylesheet" href="${loginStyle}">
<link rel="icon" href="data:,">
</head>
<body>
<main class="login">
<h1 class="brand">${flame}Kindling</h1>
<form method="post" action="/login">
<h2>Log in to see how the pods of this cluster start</h2>
<label for="token">Bearer token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="off" autocapitalize="none" spellcheck="false"
 aria-describedby="${isWrong ? "problem " : ""}hint"${isWrong ? ' aria-invalid="true"' : ""}>
${isWrong ? `<p id="problem" class="problem" role="alert">${escapeHtml(problem)}</p>` : ""}
<p id="hint" class="hint">A token of a user who is allowed to see this dashboard. <code>kubectl create token NAME</code> creates one for a service account.</p>
<button type="submit">Log in</button>
</form>
<p class="hint">The session ends when the token expires, when you log out, or after eight hours.</p>
</main>
</body>
</html>
`;
  return htmlResponse(code, html, {
    "content-security-policy": loginPolicy,
    // Lets browsers without Sec-Fetch-Site send the origin of the form.
    "referrer-policy": "same-origin",
  });
}

const flame =
  '<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path class="flame" d="M12 1.500c.6 4-4.900 6.300-6.600 10.300-1.900 4.600 1.200 10.700 6.600 10.700s8.700-5.200 7.100-9.800c-.5-1.500-1.500-2.600-2.200-3.800-.4 1.500-1 2.400-2 3 .5-3.900-.3-7.700-2.900-10.400z"/></svg>';

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
