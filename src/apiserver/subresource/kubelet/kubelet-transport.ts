import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex, Readable } from "node:stream";
import { dialErrorText } from "./dial-error-text.ts";
import type { KubeletEndpoint } from "./kubelet-location.ts";
import { type AddressRules, checkHost, createLookup } from "./proxyable-address.ts";

export interface KubeletTransportOptions extends AddressRules {
  /** What the API server shows to kubelets, PEM. */
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  /** Kubelets' certificates are verified against this; without it they are taken as they are, as upstream. */
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
  /** Ends the call whatever state it is in. */
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

/** The kubelet was not reached, or hung up before it answered. The message is worded as upstream's. */
export class KubeletUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KubeletUnreachable";
  }
}

export type KubeletTransport = (call: KubeletCall) => Promise<KubeletReply>;

/** One TLS connection for each call: these are few and long, and a kept connection may be dead when it is needed. */
export function createKubeletTransport(options: KubeletTransportOptions): KubeletTransport {
  const { cert, key, ca, connectTimeoutMs = 10_000 } = options;
  const lookup = createLookup(options);

  return (call) => {
    const { endpoint, method, path, headers, body, signal } = call;
    checkHost(endpoint.host, options);
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        ...endpoint,
        method,
        path,
        headers,
        signal,
        agent: false,
        cert,
        key,
        ca,
        rejectUnauthorized: ca !== undefined && !call.skipVerify,
        lookup,
      });
      const timer = setTimeout(() => {
        request.destroy(Object.assign(new Error("i/o timeout"), { code: "ETIMEDOUT" }));
      }, connectTimeoutMs);
      request.on("socket", (socket) => {
        // A peer that vanished without a word is noticed in minutes, not never.
        socket.setKeepAlive(true, 30_000);
        socket.once("secureConnect", () => clearTimeout(timer));
      });
      request.on("error", (error) => {
        reject(new KubeletUnreachable(dialErrorText(error, endpoint), { cause: error }));
      });
      request.on("close", () => {
        clearTimeout(timer);
        reject(new KubeletUnreachable("EOF"));
      });
      request.on("response", (response) => resolve({ kind: "response", response }));
      // Without this listener, a kubelet that upgrades unasked is hung up on.
      if (headers?.upgrade) {
        request.on("upgrade", (response, socket, head) =>
          resolve({ kind: "upgraded", response, socket, head }),
        );
      }
      if (body) body.pipe(request);
      else request.end();
    });
  };
}
