import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, StatusError } from "../../../../api/meta/status-error.ts";
import { acceptWebSocket, isWebSocketRequest } from "../../../../lib/http/accept-web-socket.ts";
import { joinSockets } from "../../../../lib/join-sockets.ts";
import type { ResourceRequest } from "../../../request/request-info.ts";
import { requestHeaders } from "./forwarded-headers.ts";
import { kubeletEndpoint, type StreamSubresource, streamPath } from "./kubelet-location.ts";
import { abortOnEnd, type KubeletProxyDeps, reachKubelet, relayUpgrade } from "./reach-kubelet.ts";

interface StreamExchange {
  readonly subresource: StreamSubresource;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** Bytes that the client sent after its request. */
  readonly head: Buffer;
}

/** `pods/NAME/{exec,attach,portforward}`: forwards the bytes of a WebSocket or SPDY connection to the kubelet. */
export async function proxyPodStream(
  deps: KubeletProxyDeps,
  { namespace, name }: ResourceRequest,
  { subresource, request, socket, head }: StreamExchange,
): Promise<void> {
  const query = new URLSearchParams((request.url ?? "").replace(/^[^?]*/, ""));
  const pod = await deps.getPod(namespace, name);
  const path = streamPath(subresource, pod, query);
  if (!pod.spec?.nodeName) throw badRequest(`pod ${name} does not have a host assigned`);
  const endpoint = kubeletEndpoint(await deps.getNode(pod.spec.nodeName));
  // Bytes that were received with the headers belong to the stream.
  socket.unshift(head);
  const client = abortOnEnd(socket);
  const tunneled = subresource === "portforward" ? tunneledProtocols(request) : [];
  const headers = requestHeaders(request, { upgrade: true });
  const call = {
    endpoint,
    path,
    ...(tunneled.length > 0
      ? { method: "POST", headers: spdyHeaders(headers, tunneled) }
      : { method: request.method ?? "GET", headers }),
    signal: client.signal,
  };
  const reply = await reachKubelet(
    deps,
    call,
    (text) => new StatusError(500, "InternalError", `error dialing backend: ${text}`),
  );
  if (!reply) return void socket.destroy();
  if (tunneled.length === 0 || reply.kind === "response") return relayUpgrade(reply, socket, client);
  reply.socket.unshift(reply.head);
  client.stop();
  await joinTunnel({ request, socket }, reply);
}

const tunnelPrefix = "SPDY/3.1+";
/** Limit of a message of a tunnel. Clients send a message for each write, of 32 KiB or less. */
const maxTunnelMessageBytes = 1_024 * 1_024;

/** Protocols of a client that tunnels SPDY through a WebSocket, which kubectl does for port-forward since 1.31. */
function tunneledProtocols(request: IncomingMessage): string[] {
  if (!isWebSocketRequest(request)) return [];
  return (request.headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith(".k8s.io"))
    .map((name) => name.slice(tunnelPrefix.length));
}

/** Headers of the request to the kubelet, which gets plain SPDY. */
function spdyHeaders(headers: OutgoingHttpHeaders, protocols: readonly string[]): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith("sec-websocket-"));
  return {
    ...Object.fromEntries(kept),
    upgrade: "SPDY/3.1",
    "x-stream-protocol-version": [...protocols],
  };
}

/** Completes the WebSocket handshake with the protocol that the kubelet chose, and carries SPDY in its messages. */
async function joinTunnel(
  { request, socket }: { request: IncomingMessage; socket: Duplex },
  kubelet: { readonly response: IncomingMessage; readonly socket: Duplex },
): Promise<void> {
  const chosen = kubelet.response.headers["x-stream-protocol-version"] ?? "";
  const webSocket = await acceptWebSocket(
    { request, socket, head: Buffer.alloc(0) },
    [`${tunnelPrefix}${chosen}`],
    { maxMessageBytes: maxTunnelMessageBytes },
  );
  if (!webSocket) return void kubelet.socket.destroy();
  const { createWebSocketStream } = await import("ws");
  await joinSockets(createWebSocketStream(webSocket), kubelet.socket);
}
