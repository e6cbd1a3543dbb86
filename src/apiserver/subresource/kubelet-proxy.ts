import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, methodNotAllowed } from "../../api/status-error.ts";
import type { RequestInfo, ResourceRequest } from "../request-info.ts";
import { createKubeletTransport, type KubeletTransportOptions } from "./kubelet/kubelet-transport.ts";
import { proxyNode } from "./kubelet/node-proxy.ts";
import { proxyPodLog } from "./kubelet/pod-log.ts";
import { proxyPodStream } from "./kubelet/pod-stream.ts";
import type { KubeletProxyDeps } from "./kubelet/reach-kubelet.ts";

export interface KubeletProxyOptions extends Pick<KubeletProxyDeps, "getPod" | "getNode"> {
  readonly kubelet: KubeletTransportOptions;
}

/**
 * Passes one request on to a kubelet. Both functions resolve when the exchange is over; they reject, with what
 * the client should be told, only while nothing has been sent to it.
 */
export interface KubeletProxy {
  request(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/** For the requests that a kubelet answers: `pods/NAME/{log,exec,attach,portforward}` and `nodes/NAME/proxy`. */
export function createKubeletProxy(
  options: KubeletProxyOptions,
): (info: RequestInfo) => KubeletProxy | undefined {
  const deps: KubeletProxyDeps = { ...options, transport: createKubeletTransport(options.kubelet) };

  function podProxy(info: ResourceRequest): KubeletProxy | undefined {
    const { subresource } = info;
    switch (subresource) {
      case "log":
        return {
          async request(request, response, query) {
            allowMethods(request, ["GET"]);
            await proxyPodLog(deps, info, { response, query });
          },
          upgrade: refuse("a log is not upgraded"),
        };
      case "exec":
      case "attach":
      case "portforward":
        return {
          request: refuse("Upgrade request required"),
          async upgrade(request, socket, head) {
            // GET too: browsers open WebSockets with nothing else.
            allowMethods(request, ["GET", "POST"]);
            await proxyPodStream(deps, info, { subresource, request, socket, head });
          },
        };
      default:
        return undefined;
    }
  }

  function nodeProxy(info: ResourceRequest): KubeletProxy | undefined {
    if (info.subresource !== "proxy") return undefined;
    return {
      request: (request, response) => proxyNode(deps, info, { request, response }),
      // It would be a way to exec with no more than the right to read nodes.
      upgrade: refuse("upgrades are not proxied to nodes"),
    };
  }

  return (info) => {
    if (info.kind !== "resource" || info.group !== "" || info.version !== "v1") return undefined;
    if (info.plural === "pods") return podProxy(info);
    return info.plural === "nodes" ? nodeProxy(info) : undefined;
  };
}

function refuse(message: string): () => Promise<void> {
  return async () => {
    throw badRequest(message);
  };
}

function allowMethods({ method = "" }: IncomingMessage, methods: readonly string[]): void {
  if (!methods.includes(method)) throw methodNotAllowed();
}
