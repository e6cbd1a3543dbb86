import { type Answer, htmlAnswer } from "../../../lib/http/answer.ts";
import { loginPolicy } from "../security-headers.ts";

/** The stylesheet of the page, which those who are not logged in get too. */
export const loginStyle = "/login.css";

/** The form that takes a token. It needs no script; without its stylesheet it is plain. */
export function loginPage(code: number, problem?: string): Answer {
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
<p id="hint" class="hint">One of somebody who may see this page. For a service account, <code>kubectl create token NAME</code> makes one.</p>
<button type="submit">Log in</button>
</form>
<p class="hint">The session ends when the token does, when you log out, or after eight hours.</p>
</main>
</body>
</html>
`;
  return htmlAnswer(code, html, {
    "content-security-policy": loginPolicy,
    // Browsers that do not say what site a form is of say its origin, if they may.
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
