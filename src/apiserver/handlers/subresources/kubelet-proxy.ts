import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { badRequest, methodNotAllowed, pathNotFound } from "../../../api/meta/status-error.ts";
import type { AdmissionChain } from "../../admission/admission-chain.ts";
import { isTrue, type RequestInfo, type ResourceRequest } from "../../request/request-info.ts";
import type { UserInfo } from "../../request/user-info.ts";
import {
  type BackendProxyDeps,
  findBackend,
  proxyToBackend,
  upgradeBackend,
} from "./backend/backend-proxy.ts";
import {
  createBackendTransport,
  createKubeletTransport,
  type KubeletTransportOptions,
} from "./kubelet/kubelet-transport.ts";
import { findKubelet, proxyNode, upgradeNode } from "./kubelet/node-proxy.ts";
import { proxyPodLog, proxyPodLogToWebSocket } from "./kubelet/pod-log.ts";
import { proxyPodStream } from "./kubelet/pod-stream.ts";
import type { KubeletProxyDeps } from "./kubelet/reach-kubelet.ts";

export interface KubeletProxyOptions
  extends Pick<KubeletProxyDeps, "getNode">,
    Pick<BackendProxyDeps, "getPod" | "getService" | "getEndpoints"> {
  readonly kubelet: KubeletTransportOptions;
  readonly admission: Pick<AdmissionChain, "admit">;
}

/**
 * Forwards one request to a kubelet, or to a server in a pod. Both functions resolve when the exchange is over; they reject, with the error for the
 * client, only while nothing has been sent to it.
 */
export interface KubeletProxy {
  request(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

const podSubresources = new Set(["log", "exec", "attach", "portforward"]);

const proxied = new Set(["nodes", "pods", "services"]);

/**
 * True for requests that a kubelet or a server in a pod serves: `pods/NAME/{log,exec,attach,portforward}` and
 * `{nodes,pods,services}/NAME/proxy`.
 */
export function isProxied(info: RequestInfo): info is ResourceRequest {
  if (info.kind !== "resource" || info.group !== "" || info.version !== "v1" || info.name === "")
    return false;
  if (info.subresource === "proxy") return proxied.has(info.plural);
  return info.plural === "pods" && podSubresources.has(info.subresource);
}

/** Returns undefined for requests that the API server serves itself. */
export function createKubeletProxy({
  kubelet,
  admission,
  getPod,
  getNode,
  getService,
  getEndpoints,
}: KubeletProxyOptions): (info: RequestInfo, user: UserInfo) => KubeletProxy | undefined {
  const deps: KubeletProxyDeps = { getPod, getNode, transport: createKubeletTransport(kubelet) };
  const { connectTimeoutMs } = kubelet;
  const transport = createBackendTransport({ connectTimeoutMs });
  const backends: BackendProxyDeps = { getPod, getService, getEndpoints, transport };

  function proxyOf(info: ResourceRequest, user: UserInfo): KubeletProxy {
    return {
      async request(request, response) {
        await admitConnect(info, user, request);
        if (info.plural !== "nodes")
          return proxyToBackend(backends, await findBackend(backends, info), { request, response });
        const { endpoint, other } = await findKubelet(deps, info.name);
        if (other) return proxyToBackend(backends, other, { request, response });
        await proxyNode(deps, endpoint, { request, response });
      },
      async upgrade(request, socket, head) {
        await admitConnect(info, user, request);
        const upgrade = { request, socket, head };
        if (info.plural !== "nodes")
          return upgradeBackend(backends, await findBackend(backends, info), upgrade);
        const { endpoint, other } = await findKubelet(deps, info.name);
        if (other) return upgradeBackend(backends, other, upgrade);
        await upgradeNode(deps, endpoint, upgrade);
      },
    };
  }

  /** Everything but reading a log is a CONNECT. */
  async function admitConnect(
    info: ResourceRequest,
    user: UserInfo,
    request: IncomingMessage,
  ): Promise<void> {
    const { definition, namespace, name, subresource } = info;
    if (!definition) throw pathNotFound();
    const ref = { resource: definition.resource, namespace, name };
    const object = connectOptions(definition.resource.kind, subresource, request.url ?? "");
    const objects = { object, current: undefined };
    await admission.admit({ operation: "connect", ref, subresource, ...objects, user, dryRun: false });
  }

  return (info, user) => {
    if (!isProxied(info)) return undefined;
    const { subresource } = info;
    switch (subresource) {
      case "log":
        return {
          async request(request, response, query) {
            allowMethods(request, ["GET"]);
            await proxyPodLog(deps, info, { response, query });
          },
          async upgrade(request, socket, head) {
            allowMethods(request, ["GET"]);
            await proxyPodLogToWebSocket(deps, info, { request, socket, head });
          },
        };
      case "exec":
      case "attach":
      case "portforward":
        return {
          request: reject("Upgrade request required"),
          async upgrade(request, socket, head) {
            // Browsers open WebSockets with GET.
            allowMethods(request, ["GET", "POST"]);
            await admitConnect(info, user, request);
            await proxyPodStream(deps, info, { subresource, request, socket, head });
          },
        };
      default:
        return proxyOf(info, user);
    }
  };
}

const connectKinds: Readonly<Record<string, string>> = {
  exec: "PodExecOptions",
  attach: "PodAttachOptions",
  portforward: "PodPortForwardOptions",
};

/** The query of a CONNECT as the object that admission webhooks get. */
function connectOptions(parent: string, subresource: string, url: string): KubeObject {
  const query = new URLSearchParams(url.split("?", 2)[1] ?? "");
  const options: Record<string, unknown> = {};
  for (const name of ["stdin", "stdout", "stderr", "tty"]) if (isTrue(query.get(name))) options[name] = true;
  for (const name of ["container", "path"]) if (query.get(name)) options[name] = query.get(name);
  if (query.has("command")) options.command = query.getAll("command");
  if (query.has("ports")) options.ports = query.getAll("ports").map(Number);
  const kind = connectKinds[subresource] ?? `${parent}ProxyOptions`;
  // Options are the only objects without metadata.
  return { kind, apiVersion: "v1", ...options } as unknown as KubeObject;
}

function reject(message: string): () => Promise<void> {
  return async () => {
    throw badRequest(message);
  };
}

function allowMethods({ method = "" }: IncomingMessage, methods: readonly string[]): void {
  if (!methods.includes(method)) throw methodNotAllowed();
}
