import type { Node, Pod } from "../../../../api/meta/objects.ts";
import { badRequest } from "../../../../api/meta/status-error.ts";
import { type PodLogOptions, readFlag } from "./pod-log-options.ts";

export type StreamSubresource = "exec" | "attach" | "portforward";

export interface KubeletEndpoint {
  readonly host: string;
  readonly port: number;
}

const preferredAddressTypes = ["InternalIP", "ExternalIP", "Hostname"];
const defaultPort = 10250;

/** Address of a node's kubelet according to the node's status. */
export function kubeletEndpoint({ status }: Node): KubeletEndpoint {
  const addresses = status?.addresses ?? [];
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port || defaultPort;
  for (const wanted of preferredAddressTypes) {
    const found = addresses.find(({ type }) => type === wanted);
    if (found) return { host: found.address, port };
  }
  const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
  throw new Error(`no preferred addresses found; known addresses: [${known}]`);
}

export function logPath(pod: Pod, options: PodLogOptions): string {
  const container = chooseContainer(pod, options.container);
  return withQuery(`/containerLogs/${podPath(pod)}/${container}`, options.query);
}

/** Query parameters for streams: names in requests of clients, and in requests to kubelets. */
const streamFlags = [
  ["stderr", "error"],
  ["stdin", "input"],
  ["stdout", "output"],
  ["tty", "tty"],
] as const;

export function streamPath(subresource: StreamSubresource, pod: Pod, query: URLSearchParams): string {
  const asked = new URLSearchParams();
  if (subresource === "portforward") {
    const ports = query.getAll("ports").map(Number);
    if (ports.some((port) => !Number.isInteger(port))) throw badRequest("ports must be numbers");
    if (ports.length > 0) asked.set("port", ports.join(","));
    return withQuery(`/portForward/${podPath(pod)}`, asked);
  }
  if (subresource === "exec") {
    for (const word of query.getAll("command")) asked.append("command", word);
  }
  for (const [flag, kubeletFlag] of streamFlags) {
    if (readFlag(query, flag)) asked.set(kubeletFlag, "1");
  }
  const container = chooseContainer(pod, query.get("container") ?? "");
  return withQuery(`/${subresource}/${podPath(pod)}/${container}`, asked);
}

function podPath({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path;
}

/** Container of a request: the one that it names, or the only one. */
function chooseContainer(pod: Pod, asked: string): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name);
  const podName = pod.metadata.name;
  if (asked) {
    if (!names.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${podName}`);
    return asked;
  }
  const [first, ...more] = containers;
  if (!first) throw badRequest(`a container name must be specified for pod ${podName}`);
  if (more.length > 0) {
    throw badRequest(
      `a container name must be specified for pod ${podName}, choose one of: [${names.join(" ")}]`,
    );
  }
  return first.name;
}
