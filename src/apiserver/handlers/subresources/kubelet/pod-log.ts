import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { badRequest, StatusError } from "../../../../api/meta/status-error.ts";
import { acceptWebSocket, isWebSocketRequest } from "../../../../lib/http/accept-web-socket.ts";
import { formatEndpoint } from "../../../outgoing/dial-error-text.ts";
import { type ResourceRequest, splitUrl } from "../../../request/request-info.ts";
import { kubeletEndpoint, logPath } from "./kubelet-location.ts";
import { parsePodLogOptions } from "./pod-log-options.ts";
import {
  abortOnClose,
  isRedirect,
  type KubeletProxyDeps,
  logRejected,
  reachKubelet,
  readText,
} from "./reach-kubelet.ts";

/** `GET pods/NAME/log` */
export async function proxyPodLog(
  deps: KubeletProxyDeps,
  info: ResourceRequest,
  { response, query }: { response: ServerResponse; query: URLSearchParams },
): Promise<void> {
  const log = await openPodLog(deps, info, query, abortOnClose(response));
  if (log === "disconnected") return;
  if (log === "unscheduled") {
    response.writeHead(204).end();
    return;
  }
  response.writeHead(200, { "content-type": "text/plain", "cache-control": "no-cache, private" });
  // Headers are sent before the first line, so that a client that follows a log sees that it is open.
  response.flushHeaders();
  // Backpressure is passed on to the kubelet. If one side closes the connection, the other is closed too.
  await pipeline(log, response).catch(() => {});
}

const base64Protocol = "base64.binary.k8s.io";

/** The same over WebSocket: binary messages, or text messages of base64 if the client asks for that protocol. */
export async function proxyPodLogToWebSocket(
  deps: KubeletProxyDeps,
  info: ResourceRequest,
  upgrade: { readonly request: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
): Promise<void> {
  const { request, socket } = upgrade;
  if (!isWebSocketRequest(request)) throw badRequest("a log is upgraded to a WebSocket only");
  const log = await openPodLog(deps, info, splitUrl(request.url ?? "/").query, abortOnClose(socket));
  if (log === "disconnected") return;
  const webSocket = await acceptWebSocket(upgrade, ["binary.k8s.io", base64Protocol]);
  if (log === "unscheduled") return webSocket?.close(1000);
  if (!webSocket) return void log.destroy();
  const encode = (data: Buffer) => (webSocket.protocol === base64Protocol ? data.toString("base64") : data);
  // As upstream, an empty message shows that the log is open.
  webSocket.send(encode(Buffer.alloc(0)));
  await pipeline(log, async (chunks: AsyncIterable<Buffer>) => {
    // Waits for each message to be written, so that backpressure is passed on to the kubelet.
    for await (const chunk of chunks)
      await new Promise<void>((resolve, reject) => {
        webSocket.send(encode(chunk), (error) => (error ? reject(error) : resolve()));
      });
  }).catch(() => {});
  webSocket.close(1000);
}

/** Log of a pod from its kubelet. The log of a pod that is not scheduled yet is empty. */
async function openPodLog(
  deps: KubeletProxyDeps,
  { namespace, name }: ResourceRequest,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<IncomingMessage | "unscheduled" | "disconnected"> {
  const options = parsePodLogOptions(name, query);
  const pod = await deps.getPod(namespace, name);
  const path = logPath(pod, options);
  if (!pod.spec?.nodeName) return "unscheduled";
  const endpoint = kubeletEndpoint(await deps.getNode(pod.spec.nodeName));
  const failed = (url: string, text: string) =>
    new StatusError(500, "InternalError", `Get "${url}": ${text}`);
  const call = { endpoint, method: "GET", path, skipVerify: options.skipVerify, signal };
  const reply = await reachKubelet(deps, call, (text) =>
    failed(`https://${formatEndpoint(endpoint)}${path}`, text),
  );
  if (!reply) return "disconnected";
  const log = reply.response;
  if (isRedirect(log)) {
    log.destroy();
    throw failed(log.headers.location ?? "", "redirects forbidden");
  }
  const code = log.statusCode ?? 500;
  if (code < 200 || code > 206) throw logRejected(code, await readText(log), name);
  return log;
}
