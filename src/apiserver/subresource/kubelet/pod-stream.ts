import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, StatusError } from "../../../api/status-error.ts";
import { joinSockets } from "../../../lib/join-sockets.ts";
import type { ResourceRequest } from "../../request-info.ts";
import { abortOnEnd } from "./abort-on-close.ts";
import { requestHeaders } from "./forwarded-headers.ts";
import { readText } from "./kubelet-answer.ts";
import { kubeletEndpoint, type StreamSubresource, streamPath } from "./kubelet-location.ts";
import { type KubeletProxyDeps, reachKubelet } from "./reach-kubelet.ts";

interface StreamExchange {
  readonly subresource: StreamSubresource;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What the client sent behind its request already. */
  readonly head: Buffer;
}

/** `pods/NAME/{exec,attach,portforward}`: WebSocket or SPDY, which is between client and kubelet. */
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
  // Bytes that came together with the headers belong to the stream.
  socket.unshift(head);
  const client = abortOnEnd(socket);
  const call = {
    endpoint,
    method: request.method ?? "GET",
    path,
    headers: requestHeaders(request, { upgrade: true }),
    signal: client.signal,
  };
  const reply = await reachKubelet(
    deps,
    call,
    (text) => new StatusError(500, "InternalError", `error dialing backend: ${text}`),
  );
  if (!reply) return void socket.destroy();
  if (reply.kind === "response") return refuse(reply.response, socket);

  socket.write(`${headOf(reply.response)}\r\n`);
  reply.socket.unshift(reply.head);
  client.stop();
  await joinSockets(socket, reply.socket);
}

/** The kubelet did not upgrade: its reason goes to the client as it is. */
async function refuse(response: IncomingMessage, socket: Duplex): Promise<void> {
  const code = response.statusCode ?? 500;
  if (code < 400) {
    response.destroy();
    throw new StatusError(500, "InternalError", `invalid upgrade response: status code ${code}`);
  }
  const body = await readText(response);
  const type = response.headers["content-type"] ?? "text/plain";
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\ncontent-type: ${type}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

/** Status line and headers as the kubelet sent them. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    head += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  }
  return head;
}
