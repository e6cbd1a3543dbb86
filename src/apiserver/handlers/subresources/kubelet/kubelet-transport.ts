import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import type { LookupFunction } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { type AddressRules, checkHost, createLookup } from "../../../outgoing/address-rules.ts";
import { dialErrorText } from "../../../outgoing/dial-error-text.ts";
import type { KubeletEndpoint } from "./kubelet-location.ts";

export interface KubeletTransportOptions extends AddressRules {
  /** Client certificate of the API server for kubelets, PEM. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** CA of the kubelets' certificates. Without it, as upstream, they are not verified. */
  readonly ca?: string | Buffer;
  readonly connectTimeoutMs?: number;
}

export interface KubeletCall {
  readonly endpoint: KubeletEndpoint;
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Readable;
  readonly skipVerify?: boolean;
  /** Aborts the call in any state. */
  readonly signal: AbortSignal;
}

export type KubeletReply =
  | { readonly kind: "response"; readonly response: IncomingMessage }
  | {
      readonly kind: "upgraded";
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      readonly head: Buffer;
    };

/** Error of a connection that failed or was closed before a response. The message is worded as upstream. */
export class KubeletUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeletUnreachable";
  }
}

export type KubeletTransport = (call: KubeletCall) => Promise<KubeletReply>;

/** Opens one TLS connection for each call: calls are few and long, and a reused connection may be broken. */
export function createKubeletTransport(options: KubeletTransportOptions): KubeletTransport {
  const { cert, key, ca, connectTimeoutMs } = options;
  const lookup = createLookup(options);
  return (call) => {
    const { endpoint } = call;
    checkHost(endpoint.host, options);
    const rejectUnauthorized = ca !== undefined && !call.skipVerify;
    return sendCall(call, endpoint, { connectTimeoutMs, tls: { cert, key, ca, rejectUnauthorized }, lookup });
  };
}

/** Call of a server in a pod, or of another port of a node. */
interface BackendCall extends KubeletEndpoint, Omit<KubeletCall, "endpoint" | "skipVerify"> {
  readonly scheme: "http" | "https";
}

export type BackendTransport = (call: BackendCall) => Promise<KubeletReply>;

export interface BackendTransportOptions extends Partial<AddressRules> {
  readonly connectTimeoutMs?: number;
}

/**
 * Opens one connection for each call, without credentials of the API server. As upstream, certificates are not verified,
 * and loopback addresses are not allowed: a pod's address comes from its status.
 */
export function createBackendTransport(options: BackendTransportOptions = {}): BackendTransport {
  const { connectTimeoutMs, allowLoopback = false } = options;
  const rules = { allowLoopback };
  const lookup = createLookup(rules);
  return (call) => {
    const { scheme, host, port } = call;
    checkHost(host, rules);
    const tls = scheme === "https" ? { rejectUnauthorized: false } : undefined;
    return sendCall(call, { host, port }, { connectTimeoutMs, tls, lookup });
  };
}

/** Limit of the headers of a response. */
const maxHeaderSize = 32 * 1_024;

interface ConnectOptions {
  readonly connectTimeoutMs: number | undefined;
  /** Undefined for a connection without TLS. */
  readonly tls: Pick<RequestOptions, "cert" | "key" | "ca" | "rejectUnauthorized"> | undefined;
  readonly lookup: LookupFunction;
}

function sendCall(
  { method, path, headers, body, signal }: Omit<KubeletCall, "endpoint">,
  endpoint: KubeletEndpoint,
  { connectTimeoutMs = 10_000, tls, lookup }: ConnectOptions,
): Promise<KubeletReply> {
  return new Promise((resolve, reject) => {
    const options = {
      ...endpoint,
      method,
      path,
      headers,
      signal,
      agent: false as const,
      lookup,
      maxHeaderSize,
    };
    const request = tls ? httpsRequest({ ...options, ...tls }) : httpRequest(options);
    const timer = setTimeout(() => {
      request.destroy(Object.assign(new Error("i/o timeout"), { code: "ETIMEDOUT" }));
    }, connectTimeoutMs);
    request.on("socket", (socket) => {
      // Detects within minutes a peer that vanished without closing the connection.
      socket.setKeepAlive(true, 30_000);
      socket.once(tls ? "secureConnect" : "connect", () => clearTimeout(timer));
    });
    request.on("error", (error) => {
      reject(new KubeletUnreachable(dialErrorText(error, endpoint), { cause: error }));
    });
    request.on("close", () => {
      clearTimeout(timer);
      reject(new KubeletUnreachable("EOF"));
    });
    request.on("response", (response) => resolve({ kind: "response", response }));
    // Without a listener, Node.js destroys the connection of a server that upgrades without being asked.
    if (headers?.upgrade) {
      request.on("upgrade", (response, socket, head) =>
        resolve({ kind: "upgraded", response, socket, head }),
      );
    }
    if (body) body.pipe(request);
    else request.end();
  });
}
