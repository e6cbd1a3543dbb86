import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { badRequest, StatusError, serviceUnavailable } from "../../../api/status-error.ts";
import type { ResourceRequest } from "../../request-info.ts";
import { abortOnClose } from "./abort-on-close.ts";
import { requestHeaders, responseHeaders } from "./forwarded-headers.ts";
import { isRedirect } from "./kubelet-answer.ts";
import { kubeletEndpoint, splitNodeId } from "./kubelet-location.ts";
import { type KubeletProxyDeps, reachKubelet } from "./reach-kubelet.ts";

/** `nodes/NAME/proxy/PATH`: any request to the kubelet's server, and to no other port of the node. */
export async function proxyNode(
  deps: KubeletProxyDeps,
  { name: id }: ResourceRequest,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { name, port } = splitNodeId(id);
  const endpoint = kubeletEndpoint(await deps.getNode(name));
  if (port && Number(port) !== endpoint.port) throw badRequest(`port ${port} is not the kubelet's`);
  const { prefix, path } = splitProxyUrl(request.url ?? "");
  const call = {
    endpoint,
    method: request.method ?? "GET",
    path,
    headers: requestHeaders(request),
    body: request,
    signal: abortOnClose(response),
  };
  const reply = await reachKubelet(deps, call, (text) =>
    serviceUnavailable(`error trying to reach service: ${text}`),
  );
  if (!reply) return;
  const answer = reply.response;
  const headers = responseHeaders(answer);
  if (isRedirect(answer)) headers.location = redirectTarget(answer, prefix);
  response.writeHead(answer.statusCode ?? 502, headers);
  await pipeline(answer, response).catch(() => {});
}

/** The kubelet's part of the URL is taken as it was sent: decoding it here could change what it means. */
function splitProxyUrl(url: string): { prefix: string; path: string } {
  const [prefix = ""] = /^\/+api\/v1\/nodes\/[^/]+\/proxy/.exec(url) ?? [];
  const path = url.slice(prefix.length);
  return { prefix, path: path.startsWith("/") ? path : `/${path}` };
}

/** Back through the proxy for another path of the kubelet; nowhere else. */
function redirectTarget(answer: IncomingMessage, prefix: string): string {
  const location = answer.headers.location ?? "";
  if (/^\/(?!\/)/.test(location)) return prefix + location;
  answer.destroy();
  const message = "the backend attempted to redirect this request, which is not permitted";
  throw new StatusError(502, "InternalError", message);
}
