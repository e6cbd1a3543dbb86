import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

/** Between two neighbours, not of the message: they end at a proxy. */
const hopByHop = new Set([
  "connection",
  "expect",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The client showed these to the API server, which answered for them; the kubelet knows the server alone. */
function isCredential(name: string): boolean {
  return name === "authorization" || name.startsWith("impersonate-") || name.startsWith("x-remote-");
}

const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** Headers of a client's request as they go on to the kubelet. `upgrade` keeps those that ask for one. */
export function requestHeaders(
  request: IncomingMessage,
  options: { upgrade?: boolean } = {},
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values = []] of Object.entries(request.headersDistinct)) {
    if (isCredential(name) || (hopByHop.has(name) && !options.upgrade)) continue;
    const kept = name === "sec-websocket-protocol" ? values.map(withoutToken).filter(Boolean) : values;
    if (kept.length > 0) headers[name] = kept.length === 1 ? kept[0] : kept;
  }
  const before = request.headers["x-forwarded-for"];
  const client = request.socket.remoteAddress;
  if (client) headers["x-forwarded-for"] = before ? `${before}, ${client}` : client;
  return headers;
}

/** Browsers cannot set `Authorization` on a WebSocket: they put the token among the protocols. */
function withoutToken(protocols: string): string {
  const kept = protocols.split(",").filter((protocol) => !protocol.trim().startsWith(tokenProtocol));
  return kept.join(",").trim();
}

/** Headers of the kubelet's answer as they go on to the client. */
export function responseHeaders(response: IncomingMessage): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    // Which pages may read the API is the API server's to say.
    if (hopByHop.has(name) || name.startsWith("access-control-allow-")) continue;
    headers[name] = values;
  }
  return headers;
}
