import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describeDialError, describeReadError } from "./describe-socket-error.ts";
import { formatRequest, type HttpRequest } from "./http-request.ts";
import { type ParsedResponse, parseHttpResponse } from "./parse-http-response.ts";
import type { RunOptions } from "./probe-handler.ts";

export type Exchange = Exclude<ParsedResponse, { kind: "incomplete" }>;

/**
 * One request over a connection of its own, and its response. Node's own client takes half as much again of a core at
 * a thousand probes a second; a probe needs little of what that is for.
 */
export function exchangeHttp(request: HttpRequest, { timeoutMs, signal }: RunOptions): Promise<Exchange> {
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
      // Upstream drops a probe whose body does not end, so that such a server is never found out. A timeout is a failure.
      settle(broken("head", part === "body" ? reading : awaiting));
    }, timeoutMs);
    signal.addEventListener("abort", abort, { once: true });

    socket.on("connect", () => {
      part = "head";
    });
    socket.on("data", (chunk: Buffer) => {
      // The server is to close, so that ports wait out their time on its side; unless it has more to say than was asked.
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
  // A pod's certificate is its own affair: a probe asks whether it answers, not who it is.
  const servername = isName ? host : "";
  return connectTls(
    { host, port, servername, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] },
    onReady,
  );
}

function broken(part: "head" | "body", problem: string): Exchange {
  return { kind: "broken", part, problem };
}
