import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createInflateRaw } from "node:zlib";
import type { Endpoints, Pod, Service } from "../../../../api/meta/objects.ts";
import { StatusError, serviceUnavailable } from "../../../../api/meta/status-error.ts";
import { formatEndpoint } from "../../../outgoing/dial-error-text.ts";
import type { ResourceRequest } from "../../../request/request-info.ts";
import { requestHeaders, responseHeaders } from "../kubelet/forwarded-headers.ts";
import type { BackendTransport } from "../kubelet/kubelet-transport.ts";
import { abortOnClose, abortOnEnd, reachBackend, relayUpgrade } from "../kubelet/reach-kubelet.ts";
import {
  type Backend,
  checkAddress,
  isAddressOfPod,
  noEndpoints,
  parseProxyTarget,
  podBackend,
  serviceAddresses,
  servicePortName,
} from "./backend-location.ts";
import { splitProxyUrl } from "./proxy-url.ts";
import { createLinkRewriter, type LinkContext, rewriteLink } from "./rewrite-links.ts";

/** Dependencies of the proxies to pods and services. The lookups reject with 404 if the object does not exist. */
export interface BackendProxyDeps {
  getPod(namespace: string, name: string): Promise<Pod>;
  getService(namespace: string, name: string): Promise<Service>;
  getEndpoints(namespace: string, name: string): Promise<Endpoints>;
  readonly transport: BackendTransport;
}

/** Finds the server for `pods/NAME/proxy` or `services/NAME/proxy`. */
export async function findBackend(
  deps: BackendProxyDeps,
  { plural, namespace, name: id }: ResourceRequest,
): Promise<Backend> {
  if (plural === "pods") {
    const target = parseProxyTarget("pod", id);
    return podBackend(await deps.getPod(namespace, target.name), target);
  }
  const { scheme, name, port } = parseProxyTarget("service", id);
  const portName = /^[0-9]+$/.test(port)
    ? servicePortName(await deps.getService(namespace, name), port)
    : port;
  const endpoints = await deps.getEndpoints(namespace, name);
  for (const { address, port } of serviceAddresses(endpoints, { id, portName, random: Math.random() })) {
    const { kind, namespace: podNamespace, name: podName } = address.targetRef ?? {};
    if (kind !== "Pod" || podNamespace !== namespace || !podName) continue;
    const pod = await deps.getPod(namespace, podName).catch(() => undefined);
    if (!isAddressOfPod(address, pod)) continue;
    checkAddress(address.ip);
    return { scheme, host: address.ip, port };
  }
  throw noEndpoints(id);
}

/** Forwards a request. Links of the response to the backend itself are rewritten to lead through the proxy. */
export async function proxyToBackend(
  { transport }: Pick<BackendProxyDeps, "transport">,
  backend: Backend,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const { prefix, path, query } = splitProxyUrl(request.url ?? "");
  const { method = "GET" } = request;
  if (path === "" && (method === "GET" || method === "HEAD")) {
    // Relative links of a page need the slash.
    response.writeHead(301, { location: `${prefix}/${query}` }).end();
    return;
  }
  const call = {
    ...backend,
    method,
    path: `${path || "/"}${query}`,
    headers: { ...requestHeaders(request), "x-forwarded-uri": `${prefix}${path}` },
    body: request,
    signal: abortOnClose(response),
  };
  const reply = await reachBackend(transport, call, (text) =>
    serviceUnavailable(`error trying to reach service: ${text}`),
  );
  if (!reply) return;
  const received = reply.response;
  const headers = responseHeaders(received);
  const links = {
    prefix,
    backendHost: formatEndpoint(backend),
    requestHost: request.headers.host ?? "",
  };
  if (received.headers.location !== undefined)
    headers.location = rewriteLink(received.headers.location, links);
  const filters = method === "HEAD" ? [] : htmlFilters(received, links);
  if (filters.length > 0) {
    delete headers["content-length"];
    delete headers["content-encoding"];
  }
  try {
    response.writeHead(received.statusCode ?? 502, headers);
  } catch (error) {
    received.destroy();
    throw new StatusError(502, "InternalError", `the response of the backend is invalid: ${error}`);
  }
  // Headers are sent before the first data, so that a client of a stream sees that it is open.
  response.flushHeaders();
  await pipeline([received, ...filters, response] as [Readable, ...Transform[], ServerResponse]).catch(
    () => {},
  );
}

/** Forwards an upgrade: WebSocket, SPDY or any other protocol. */
export async function upgradeBackend(
  { transport }: Pick<BackendProxyDeps, "transport">,
  backend: Backend,
  { request, socket, head }: { request: IncomingMessage; socket: Duplex; head: Buffer },
): Promise<void> {
  const { prefix, path, query } = splitProxyUrl(request.url ?? "");
  socket.unshift(head);
  const client = abortOnEnd(socket);
  const call = {
    ...backend,
    method: request.method ?? "GET",
    path: `${path || "/"}${query}`,
    headers: { ...requestHeaders(request, { upgrade: true }), "x-forwarded-uri": `${prefix}${path}` },
    signal: client.signal,
  };
  const reply = await reachBackend(
    transport,
    call,
    (text) => new StatusError(500, "InternalError", `error dialing backend: ${text}`),
  );
  if (!reply) return void socket.destroy();
  await relayUpgrade(reply, socket, client);
}

/** Filters that rewrite the links of an HTML page. None for other content, and for an unknown encoding. */
function htmlFilters({ headers }: IncomingMessage, links: LinkContext): Transform[] {
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase();
  if (type !== "text/html") return [];
  switch (headers["content-encoding"] ?? "") {
    case "":
      return [createLinkRewriter(links)];
    case "gzip":
      return [createGunzip(), createLinkRewriter(links)];
    case "deflate":
      return [createInflateRaw(), createLinkRewriter(links)];
    default:
      return [];
  }
}
