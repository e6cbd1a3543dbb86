import { lookup } from "node:dns";
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { badRequest } from "../../../../api/meta/status-error.ts";
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

/** Texts of connection errors as Go words them, because users search for these. */
const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  ETIMEDOUT: "i/o timeout",
};

const unknownAuthority = "x509: certificate signed by unknown authority";
const certificateTexts: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "x509: certificate has expired or is not yet valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
};

export function dialErrorText(error: Error & { code?: string }, endpoint: KubeletEndpoint): string {
  const { code = "" } = error;
  const connect = connectTexts[code];
  if (connect) return `dial tcp ${formatEndpoint(endpoint)}: ${connect}`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${endpoint.host}: no such host`;
  const certificate = certificateTexts[code];
  if (certificate) return `tls: failed to verify certificate: ${certificate}`;
  // The connection was closed before a response.
  if (code === "ECONNRESET") return "EOF";
  return error.message;
}

export function formatEndpoint({ host, port }: KubeletEndpoint): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/**
 * Addresses of kubelets to which the API server may connect. A node's address comes from its status, which its kubelet
 * may write. Without limits, a stolen kubelet credential could make the API server connect, with its own certificate, to
 * addresses that only it can reach. Therefore link-local addresses (cloud metadata services), multicast and unspecified
 * addresses are always rejected, and loopback addresses unless the cluster is one machine. Connections always use TLS,
 * and redirects are never followed.
 */
interface AddressRules {
  /** Whether the cluster is one machine, so that kubelets listen on loopback. */
  readonly allowLoopback: boolean;
}

const notAllowed = "address not allowed";

const noMachine = new BlockList();
noMachine.addSubnet("0.0.0.0", 8, "ipv4");
noMachine.addSubnet("169.254.0.0", 16, "ipv4");
noMachine.addSubnet("224.0.0.0", 3, "ipv4");
noMachine.addAddress("::", "ipv6");
noMachine.addSubnet("fe80::", 10, "ipv6");
noMachine.addSubnet("ff00::", 8, "ipv6");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export function isProxyable(address: string, { allowLoopback }: AddressRules): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (noMachine.check(address, family)) return false;
  return allowLoopback || !loopback.check(address, family);
}

/** Throws 400 for an address that is not allowed. Host names are checked by `createLookup` when they are resolved. */
export function checkHost(host: string, rules: AddressRules): void {
  if (isIP(host) && !isProxyable(host, rules)) throw badRequest(notAllowed);
}

/** Resolves names with the system's resolver. Fails when one of the addresses is not allowed. */
export function createLookup(rules: AddressRules): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error || !first) return callback(error ?? new Error("no addresses for hostname"), []);
      if (addresses.some(({ address }) => !isProxyable(address, rules))) {
        return callback(new Error(notAllowed), []);
      }
      return options.all ? callback(null, addresses) : callback(null, first.address, first.family);
    });
  };
}
