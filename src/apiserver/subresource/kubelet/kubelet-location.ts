import type { Node, Pod } from "../../../api/objects.ts";
import { badRequest } from "../../../api/status-error.ts";
import { chooseContainer } from "./choose-container.ts";
import type { PodLogOptions } from "./pod-log-options.ts";
import { readFlag } from "./query-values.ts";

export type StreamSubresource = "exec" | "attach" | "portforward";

export interface KubeletEndpoint {
  readonly host: string;
  readonly port: number;
}

const preferredAddressTypes = ["InternalIP", "ExternalIP", "Hostname"];
const defaultPort = 10250;

/** Where a node's kubelet listens, by the node's own word. */
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

/** What clients call the streams, and what kubelets do. */
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

/** Requests for a node may name it `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. */
export function splitNodeId(id: string): { name: string; port: string } {
  const parts = id.split(":");
  const [scheme, name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts];
  const valid = parts.length <= 3 && name !== "" && ["", "http", "https"].includes(scheme ?? "");
  if (!valid) throw badRequest(`invalid node request ${JSON.stringify(id)}`);
  return { name, port };
}

function podPath({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function withQuery(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path;
}
