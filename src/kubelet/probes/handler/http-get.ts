import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { HttpGetAction } from "../../../api/meta/objects.ts";
import {
  createRequest,
  followRedirect,
  formatRequest,
  formatUrl,
  type HttpRequest,
  type ParsedResponse,
  parseHttpResponse,
} from "./http-message.ts";
import {
  describeDialError,
  describeReadError,
  failed,
  findAddress,
  type ProbeOutcome,
  type ProbeTarget,
  type RunOptions,
} from "./probe-handler.ts";

const maxRequests = 10;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Runs an HTTP probe. Statuses from 200 to 399 are a success. */
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
      // As upstream: an incomplete body is an error, not a failure, because the server has responded.
      if (exchange.part === "body") return { kind: "error", state: "failure", message: exchange.problem };
      return failedGet(request, exchange.problem);
    }
    const { status, location, body } = exchange;
    if (!location || !redirectStatuses.has(status)) return toOutcome(status, body);
    const redirect = followRedirect(request, location);
    if (redirect.kind === "otherHost") return toOutcome(status, body);
    if (redirect.kind === "broken") return failedGet(request, redirect.problem);
    request = redirect.request;
    if (requests === maxRequests) return failedGet(request, `stopped after ${maxRequests} redirects`);
  }
}

function toOutcome(status: number, body: string): ProbeOutcome {
  // The body is not included, because it may contain secrets.
  if (status < 200 || status >= 400) return failed(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return { kind: "success" };
  return { kind: "warning", output: `Probe terminated redirects, Response body: ${body}` };
}

function failedGet(request: HttpRequest, problem: string): ProbeOutcome {
  return failed(`Get ${JSON.stringify(formatUrl(request))}: ${problem}`);
}

type Exchange = Exclude<ParsedResponse, { kind: "incomplete" }>;

/**
 * Sends one request over its own connection and reads the response. Uses a plain socket: node:http takes 38 % more CPU time
 * per probe (196 µs instead of 142 µs at a thousand probes a second, medians of five alternating runs).
 */
function exchangeHttp(request: HttpRequest, { timeoutMs, signal }: RunOptions): Promise<Exchange> {
  const formatted = formatRequest(request);
  if ("problem" in formatted) return Promise.resolve(broken("head", formatted.problem));

  return new Promise((resolve) => {
    let received: Buffer | undefined;
    let part: "dial" | "head" | "body" = "dial";
    let settled = false;
    const socket = openSocket(request, () => socket.write(formatted.text));

    function settle(exchange: Exchange): void {
      settled = true;
      resolve(exchange);
    }
    function read(ended: boolean): void {
      const parsed = parseHttpResponse(received ?? Buffer.alloc(0), { ended });
      if (parsed.kind === "incomplete") part = parsed.part;
      else settle(parsed);
    }
    function abort(): void {
      socket.destroy();
      if (!settled) settle(broken("head", "context canceled"));
    }
    const timer = setTimeout(() => {
      socket.destroy();
      if (settled) return;
      const reading = "context deadline exceeded (Client.Timeout or context cancellation while reading body)";
      const awaiting = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
      // Upstream ignores a probe whose body does not end, so such a server is never detected. Here a timeout is a failure.
      settle(broken("head", part === "body" ? reading : awaiting));
    }, timeoutMs);
    signal.addEventListener("abort", abort, { once: true });

    socket.on("connect", () => {
      part = "head";
    });
    socket.on("data", (chunk: Buffer) => {
      // The server closes first, so that TIME_WAIT is on its side, unless it sends more than is read.
      if (settled) return void socket.destroy();
      received = received ? Buffer.concat([received, chunk]) : chunk;
      read(false);
    });
    socket.on("end", () => {
      if (!settled) read(true);
    });
    socket.on("error", (error) => {
      if (settled) return;
      if (part === "dial") settle(broken("head", describeDialError(error, request)));
      else settle(broken(part, describeReadError(error)));
    });
    socket.on("close", () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      if (!settled) settle(broken("head", "EOF"));
    });
  });
}

function openSocket({ scheme, host, port }: HttpRequest, onReady: () => void): Socket {
  const isName = isIP(host) === 0;
  if (scheme === "http") return connect({ host, port, autoSelectFamily: isName }, onReady);
  // As upstream, probes do not verify certificates.
  const servername = isName ? host : "";
  return connectTls(
    { host, port, servername, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] },
    onReady,
  );
}

function broken(part: "head" | "body", problem: string): Exchange {
  return { kind: "broken", part, problem };
}
