import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex, Writable } from "node:stream";
import type { Node, Pod } from "../../../../api/meta/objects.ts";
import {
  badRequest,
  internalError,
  StatusError,
  type StatusReason,
} from "../../../../api/meta/status-error.ts";
import { joinSockets } from "../../../../lib/join-sockets.ts";
import {
  type KubeletCall,
  type KubeletReply,
  type KubeletTransport,
  KubeletUnreachable,
} from "./kubelet-transport.ts";

/** Dependencies of the kubelet proxies. Both lookups reject with 404 if the object does not exist. */
export interface KubeletProxyDeps {
  getPod(namespace: string, name: string): Promise<Pod>;
  getNode(name: string): Promise<Node>;
  readonly transport: KubeletTransport;
}

/**
 * Sends a request to the kubelet. Undefined if the client disconnected meanwhile. `explain` returns the error
 * for a failed connection, which each subresource words differently.
 */
export function reachKubelet(
  { transport }: Pick<KubeletProxyDeps, "transport">,
  call: KubeletCall,
  explain: (failure: string) => StatusError,
): Promise<KubeletReply | undefined> {
  return reachBackend(transport, call, explain);
}

/** The same for any server. */
export async function reachBackend<Call extends { readonly signal: AbortSignal }>(
  transport: (call: Call) => Promise<KubeletReply>,
  call: Call,
  explain: (failure: string) => StatusError,
): Promise<KubeletReply | undefined> {
  try {
    return await transport(call);
  } catch (error) {
    if (call.signal.aborted) return undefined;
    throw error instanceof KubeletUnreachable ? explain(error.message) : error;
  }
}

/** Connects the client of an upgrade with the server, or forwards the response of a server that did not upgrade. */
export async function relayUpgrade(
  reply: KubeletReply,
  socket: Duplex,
  client: { stop(): void },
): Promise<void> {
  if (reply.kind === "response") return rejectUpgrade(reply.response, socket);
  reply.socket.unshift(reply.head);
  client.stop();
  socket.write(`${headOf(reply.response)}\r\n`);
  await joinSockets(socket, reply.socket);
}

/** Forwards the response of a server that did not upgrade. */
async function rejectUpgrade(response: IncomingMessage, socket: Duplex): Promise<void> {
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

/** Status line and headers as the server sent them. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let head = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    head += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  }
  return head;
}

/** Maximum number of bytes that are read of a kubelet's error. */
const maxTextBytes = 50_000;

const texts: Readonly<Record<number, readonly [StatusReason, string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  429: ["TooManyRequests", "the server has received too many requests and has asked us to try again later"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
};

/** Error of the API for a kubelet that does not return a log. */
export function logRejected(code: number, text: string, podName: string): StatusError {
  if (code === 500) return internalError(text);
  if (code === 400) return badRequest(text);
  const [reason, message] = texts[code] ?? otherText(code, text);
  // Two spaces, as in upstream's message, which has no verb here.
  return new StatusError(code, reason, `${message} ( pods/log ${podName})`, {
    name: podName,
    kind: "pods/log",
  });
}

function otherText(code: number, text: string): [StatusReason, string] {
  if (code === 403) return ["Forbidden", text];
  const message =
    code > 500
      ? `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`
      : `the server responded with the status code ${code} but did not return more information`;
  return ["InternalError", message];
}

export function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
}

/** Reads the beginning of a body without waiting for the rest. */
export async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxTextBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxTextBytes).toString();
}

/** Signal that aborts when the client of a response disconnects. */
export function abortOnClose(response: Writable): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  else response.once("close", () => gone.abort());
  return gone.signal;
}

/**
 * The same for an upgraded socket, whose end is only detected by reading: until `stop`, the socket is read ahead up to
 * the size of its buffer.
 */
export function abortOnEnd(socket: Duplex): { signal: AbortSignal; stop(): void } {
  const gone = new AbortController();
  const onReadable = () => {
    // With an empty buffer, this read triggers the `end` event.
    if (socket.readableLength === 0) socket.read();
  };
  const onGone = () => gone.abort();
  socket.on("readable", onReadable).once("end", onGone).once("close", onGone);
  if (socket.destroyed) gone.abort();
  return {
    signal: gone.signal,
    stop: () => void socket.off("readable", onReadable).off("end", onGone).off("close", onGone),
  };
}
