import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StatusError, serviceUnavailable } from "../../../../api/meta/status-error.ts";
import { type Backend, parsePort, parseProxyTarget } from "../backend/backend-location.ts";
import { splitProxyUrl } from "../backend/proxy-url.ts";
import { requestHeaders, responseHeaders } from "./forwarded-headers.ts";
import { type KubeletEndpoint, kubeletEndpoint } from "./kubelet-location.ts";
import {
  abortOnClose,
  abortOnEnd,
  isRedirect,
  type KubeletProxyDeps,
  reachKubelet,
  relayUpgrade,
} from "./reach-kubelet.ts";

/** Kubelet of a node for a request to `nodes/NAME/proxy`. Undefined if the request is for another port of the node. */
export async function findKubelet(
  deps: Pick<KubeletProxyDeps, "getNode">,
  id: string,
): Promise<{ readonly endpoint: KubeletEndpoint; readonly other: Backend | undefined }> {
  const { scheme, name, port } = parseProxyTarget("node", id);
  const endpoint = kubeletEndpoint(await deps.getNode(name));
  const isKubelet = port === "" || Number(port) === endpoint.port;
  return { endpoint, other: isKubelet ? undefined : { scheme, host: endpoint.host, port: parsePort(port) } };
}

/** `nodes/NAME/proxy/PATH`: forwards any request to the kubelet's server. */
export async function proxyNode(
  deps: KubeletProxyDeps,
  endpoint: KubeletEndpoint,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { prefix, path, query } = splitProxyUrl(request.url ?? "");
  const call = {
    endpoint,
    method: request.method ?? "GET",
    path: `${path || "/"}${query}`,
    headers: requestHeaders(request),
    body: request,
    signal: abortOnClose(response),
  };
  const reply = await reachKubelet(deps, call, (text) =>
    serviceUnavailable(`error trying to reach service: ${text}`),
  );
  if (!reply) return;
  const received = reply.response;
  const headers = responseHeaders(received);
  if (isRedirect(received)) headers.location = redirectTarget(received, prefix);
  response.writeHead(received.statusCode ?? 502, headers);
  await pipeline(received, response).catch(() => {});
}

/** Forwards an upgrade to the kubelet's server. */
export async function upgradeNode(
  deps: KubeletProxyDeps,
  endpoint: KubeletEndpoint,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  const { path, query } = splitProxyUrl(request.url ?? "");
  socket.unshift(head);
  const client = abortOnEnd(socket);
  const call = {
    endpoint,
    method: request.method ?? "GET",
    path: `${path || "/"}${query}`,
    headers: requestHeaders(request, { upgrade: true }),
    signal: client.signal,
  };
  const reply = await reachKubelet(
    deps,
    call,
    (text) => new StatusError(500, "InternalError", `error dialing backend: ${text}`),
  );
  if (!reply) return void socket.destroy();
  await relayUpgrade(reply, socket, client);
}

/** Location of a redirect to a path of the kubelet, through the proxy. Throws 502 for any other target. */
function redirectTarget(received: IncomingMessage, prefix: string): string {
  const location = received.headers.location ?? "";
  if (/^\/(?!\/)/.test(location)) return prefix + location;
  received.destroy();
  const message = "the backend attempted to redirect this request, which is not permitted";
  throw new StatusError(502, "InternalError", message);
}
