import { messageOf } from "../../../lib/message-of.ts";
import { joinHostPort } from "./find-address.ts";

/** What system errors are called in the messages that users of Kubernetes know and search for. */
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

/** `dial tcp 10.0.0.7:80: connect: connection refused` */
export function describeDialError(error: unknown, { host, port }: SocketPeer): string {
  const code = codeOf(error);
  if (code === "ENOTFOUND") return `dial tcp: lookup ${host}: no such host`;
  if (code === "EAI_AGAIN") return `dial tcp: lookup ${host}: server misbehaving`;
  const [call, text] = code === "EMFILE" ? ["socket", systemErrors[code]] : ["connect", systemErrors[code]];
  return `dial tcp ${joinHostPort(host, port)}: ${text ? `${call}: ${text}` : messageOf(error)}`;
}

/** Once connected: `read: connection reset by peer` */
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
  // A name with several addresses fails with an error for each.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error && "code" in first && typeof first.code === "string" ? first.code : "";
}
