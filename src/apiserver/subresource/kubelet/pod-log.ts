import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { StatusError } from "../../../api/status-error.ts";
import type { ResourceRequest } from "../../request-info.ts";
import { abortOnClose } from "./abort-on-close.ts";
import { formatEndpoint } from "./dial-error-text.ts";
import { isRedirect, logRefused, readText } from "./kubelet-answer.ts";
import { kubeletEndpoint, logPath } from "./kubelet-location.ts";
import { parsePodLogOptions } from "./pod-log-options.ts";
import { type KubeletProxyDeps, reachKubelet } from "./reach-kubelet.ts";

/** `GET pods/NAME/log` */
export async function proxyPodLog(
  deps: KubeletProxyDeps,
  { namespace, name }: ResourceRequest,
  { response, query }: { response: ServerResponse; query: URLSearchParams },
): Promise<void> {
  const options = parsePodLogOptions(name, query);
  const pod = await deps.getPod(namespace, name);
  const path = logPath(pod, options);
  if (!pod.spec?.nodeName) {
    // Not yet on a node: nothing has been logged.
    response.writeHead(204).end();
    return;
  }
  const endpoint = kubeletEndpoint(await deps.getNode(pod.spec.nodeName));
  const failed = (url: string, text: string) =>
    new StatusError(500, "InternalError", `Get "${url}": ${text}`);
  const call = {
    endpoint,
    method: "GET",
    path,
    skipVerify: options.skipVerify,
    signal: abortOnClose(response),
  };
  const reply = await reachKubelet(deps, call, (text) =>
    failed(`https://${formatEndpoint(endpoint)}${path}`, text),
  );
  if (!reply) return;
  const log = reply.response;
  if (isRedirect(log)) {
    log.destroy();
    throw failed(log.headers.location ?? "", "redirects forbidden");
  }
  const code = log.statusCode ?? 500;
  if (code < 200 || code > 206) throw logRefused(code, await readText(log), name);

  response.writeHead(200, { "content-type": "text/plain", "cache-control": "no-cache, private" });
  // Whoever follows a silent log sees at once that it is open.
  response.flushHeaders();
  // A client that reads slowly slows the kubelet; if either hangs up, so do we.
  await pipeline(log, response).catch(() => {});
}
