import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

/** Hop-by-hop headers, which a proxy does not forward. */
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

/** Credentials of the client are not forwarded: the kubelet authenticates the API server. */
function isCredential(name: string): boolean {
  return name === "authorization" || name.startsWith("impersonate-") || name.startsWith("x-remote-");
}

const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** Request headers that are forwarded to the kubelet. `upgrade` keeps the headers of an upgrade. */
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
  // Node.js would send the body of a GET or DELETE without its length.
  if (request.headers["transfer-encoding"] !== undefined && !options.upgrade)
    headers["transfer-encoding"] = "chunked";
  const before = request.headers["x-forwarded-for"];
  const client = request.socket.remoteAddress;
  if (client) headers["x-forwarded-for"] = before ? `${before}, ${client}` : client;
  return headers;
}

/**
 * Removes the bearer token from the WebSocket protocols, where browsers send it because they cannot set
 * `Authorization`.
 */
function withoutToken(protocols: string): string {
  const kept = protocols.split(",").filter((protocol) => !protocol.trim().startsWith(tokenProtocol));
  return kept.join(",").trim();
}

/** Response headers of the kubelet that are forwarded to the client. */
export function responseHeaders(response: IncomingMessage): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    // CORS is decided by the API server.
    if (hopByHop.has(name) || name.startsWith("access-control-allow-")) continue;
    headers[name] = values;
  }
  return headers;
}
