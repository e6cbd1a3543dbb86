import { status } from "@grpc/grpc-js";
import type { Container, Probe } from "../../../api/meta/objects.ts";
import { versionInfo } from "../../../api/meta/version.ts";
import { isGrpcError } from "../../../lib/grpc-call.ts";
import { messageOf } from "../../../lib/message-of.ts";

/** Target of a probe. */
export interface ProbeTarget {
  readonly container: Container;
  readonly containerId: string;
  /** Primary address of the pod. Undefined while unknown. */
  readonly ip: string | undefined;
}

/** Outcome of a probe run. `output` is shown in events. An error says nothing about the container. */
export type ProbeOutcome =
  | { readonly kind: "success" }
  | { readonly kind: "warning" | "failure"; readonly output: string }
  | { readonly kind: "error"; readonly state: "failure" | "unknown"; readonly message: string };

export interface RunOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Runs a probe once. Settles within the timeout. If aborted, it may reject or return any outcome. */
export type ProbeHandler = (probe: Probe, target: ProbeTarget, options: RunOptions) => Promise<ProbeOutcome>;

export function failed(output: string): ProbeOutcome {
  return { kind: "failure", output };
}

export function notRun(message: string): ProbeOutcome {
  return { kind: "error", state: "unknown", message };
}

export type Address =
  | { readonly kind: "address"; readonly host: string; readonly port: number }
  | { readonly kind: "none"; readonly outcome: ProbeOutcome };

/** Resolves the address of a probe: its host or the pod's address, and a port number or the name of a container port. */
export function findAddress(
  { host, port }: { readonly host?: string; readonly port: number | string },
  { container, ip }: ProbeTarget,
): Address {
  const number = typeof port === "number" ? port : findPort(port, container.ports ?? []);
  const name = host || ip;
  if (number === undefined)
    return { kind: "none", outcome: notRun(`port ${JSON.stringify(port)} not found`) };
  if (!(number > 0 && number < 65_536)) {
    return { kind: "none", outcome: notRun(`invalid port number: ${number}`) };
  }
  if (!name) return { kind: "none", outcome: notRun("the pod has no address yet") };
  return { kind: "address", host: name, port: number };
}

function findPort(
  portName: string,
  ports: readonly { readonly name?: string; readonly containerPort: number }[],
): number | undefined {
  return ports.find(({ name }) => name === portName)?.containerPort;
}

/** Formats `10.0.0.7:80` or `[fd00::7]:80`. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Go's texts of system errors, which users know from upstream's messages. */
const systemErrors: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRNOTAVAIL: "cannot assign requested address",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset by peer",
  EHOSTUNREACH: "no route to host",
  EINVAL: "invalid argument",
  EMFILE: "too many open files",
  ENETUNREACH: "network is unreachable",
  EPIPE: "broken pipe",
  ETIMEDOUT: "connection timed out",
};

interface SocketPeer {
  readonly host: string;
  readonly port: number;
}

/** Formats `dial tcp 10.0.0.7:80: connect: connection refused`. */
export function describeDialError(error: unknown, { host, port }: SocketPeer): string {
  const code = codeOf(error);
  if (code === "ENOTFOUND") return `dial tcp: lookup ${host}: no such host`;
  if (code === "EAI_AGAIN") return `dial tcp: lookup ${host}: server misbehaving`;
  const [call, text] = code === "EMFILE" ? ["socket", systemErrors[code]] : ["connect", systemErrors[code]];
  return `dial tcp ${joinHostPort(host, port)}: ${text ? `${call}: ${text}` : messageOf(error)}`;
}

/** Formats an error after the connection was established: `read: connection reset by peer`. */
export function describeReadError(error: unknown): string {
  const code = codeOf(error);
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return "http: server gave HTTP response to HTTPS client";
  }
  const text = systemErrors[code];
  if (!text) return messageOf(error);
  return code === "EPIPE" ? `write: ${text}` : `read: ${text}`;
}

function codeOf(error: unknown): string {
  // A host name with several addresses fails with an error for each.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error && "code" in first && typeof first.code === "string" ? first.code : "";
}

export function describeGrpcError(error: unknown): string {
  if (isGrpcError(error)) return describeStatus(error.code, error.details);
  return messageOf(error);
}

/** Formats `rpc error: code = NotFound desc = unknown service`, as upstream. */
export function describeStatus(code: status, details: string): string {
  const words = (status[code] ?? "UNKNOWN").split("_");
  const name = words.map((word) => word.slice(0, 1) + word.slice(1).toLowerCase()).join("");
  return `rpc error: code = ${name} desc = ${details}`;
}

/** User agent by which servers recognize probes, with the emulated Kubernetes version. */
export const probeUserAgent = `kube-probe/${versionInfo.major}.${versionInfo.minor}`;
