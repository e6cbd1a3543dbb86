import type { HttpGetAction } from "../../../api/objects.ts";
import { exchangeHttp } from "./exchange-http.ts";
import { findAddress } from "./find-address.ts";
import { createRequest, followRedirect, formatUrl, type HttpRequest } from "./http-request.ts";
import { failed, type ProbeOutcome, type ProbeTarget, type RunOptions } from "./probe-handler.ts";

const mostRequests = 10;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Whether a GET is answered with 200 to 399. */
export async function runHttpGet(
  action: HttpGetAction,
  { target, timeoutMs, signal }: RunOptions & { readonly target: ProbeTarget },
): Promise<ProbeOutcome> {
  const address = findAddress(action, target);
  if (address.kind === "none") return address.outcome;
  const deadline = performance.now() + timeoutMs;
  let request = createRequest(action, address);
  for (let requests = 1; ; requests++) {
    const leftMs = Math.max(1, deadline - performance.now());
    const exchange = await exchangeHttp(request, { timeoutMs: leftMs, signal });
    if (exchange.kind === "broken") {
      // A body that breaks off says nothing, as for upstream: the answer was there.
      if (exchange.part === "body") return { kind: "error", state: "failure", message: exchange.problem };
      return failedGet(request, exchange.problem);
    }
    const { status, location, body } = exchange;
    if (!location || !redirectStatuses.has(status)) return judge(status, body);
    const redirect = followRedirect(request, location);
    if (redirect.kind === "leave") return judge(status, body);
    if (redirect.kind === "broken") return failedGet(request, redirect.problem);
    request = redirect.request;
    if (requests === mostRequests) return failedGet(request, `stopped after ${mostRequests} redirects`);
  }
}

function judge(status: number, body: string): ProbeOutcome {
  // Never the body: it may hold what events must not show.
  if (status < 200 || status >= 400) return failed(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return { kind: "success" };
  return { kind: "warning", output: `Probe terminated redirects, Response body: ${body}` };
}

function failedGet(request: HttpRequest, problem: string): ProbeOutcome {
  return failed(`Get ${JSON.stringify(formatUrl(request))}: ${problem}`);
}
