import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import {
  Client,
  connectivityState,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import { callUnary, type DuplexCall, isGrpcError, openDuplex } from "../../lib/grpc-call.ts";
import { joinHostPort } from "../../lib/join-host-port.ts";
import { isUnavailable } from "./failover.ts";
import { MaintenanceService } from "./generated/etcd.ts";

/** Member of the etcd cluster. */
export interface EtcdEndpoint {
  readonly url: string;
  /** Resolves with undefined once the member responds, else with the error. */
  connect(): Promise<ServiceError | undefined>;
  call<Q, A>(method: MethodDefinition<Q, A>, options: { request: Q; timeoutMs: number }): Promise<A>;
  openStream<Q, A>(method: MethodDefinition<Q, A>): DuplexCall<Q, A>;
}

interface EndpointOptions {
  tls: EtcdTls;
  connectTimeoutMs: number;
  /** Aborting closes the connection and cancels its calls. */
  signal: AbortSignal;
}

/** A member without a leader rejects calls with this header; otherwise its watches would stall unnoticed. */
const requireLeader = new Metadata();
requireLeader.set("hasleader", "true");

export function createEtcdEndpoint(url: string, options: EndpointOptions): EtcdEndpoint {
  const { tls, connectTimeoutMs, signal } = options;
  const client = openEtcdChannel(url, tls);
  signal.addEventListener("abort", () => client.close(), { once: true });
  let connecting: Promise<ServiceError | undefined> | undefined;

  const call: EtcdEndpoint["call"] = (method, { request, timeoutMs }) =>
    callUnary(client, method, { request, timeoutMs, signal, metadata: requireLeader });

  /** Read-only call that verifies the connection before a write. */
  async function probe(): Promise<ServiceError | undefined> {
    try {
      await call(MaintenanceService.status, { request: {}, timeoutMs: connectTimeoutMs });
    } catch (error) {
      if (isUnavailable(error)) return error;
      // Any other error was sent by the member, so the connection works.
      if (!isGrpcError(error)) throw error;
    } finally {
      connecting = undefined;
    }
  }

  return {
    url,
    async connect() {
      if (client.getChannel().getConnectivityState(false) === connectivityState.READY) return;
      connecting ??= probe();
      return connecting;
    },
    call,
    openStream: (method) => openDuplex(client, method, { signal, metadata: requireLeader }),
  };
}

export interface EtcdTls {
  /** CA of etcd's certificate. Default: the CAs that Node.js trusts. */
  ca?: Buffer;
  /** Client certificate and key, if etcd requires them. */
  cert?: Buffer;
  key?: Buffer;
}

const channelOptions = {
  // Values are limited when they are written; lists are not.
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // Detects dead connections. etcd closes connections with more than one ping in 5 s.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.use_local_subchannel_pool": 1,
};

function openEtcdChannel(url: string, { ca, cert, key }: EtcdTls): Client {
  const { secure, host, port } = parseEndpoint(url);
  const target = `dns:${joinHostPort(host, port)}`;
  if (!secure) return new Client(target, credentials.createInsecure(), channelOptions);
  if (isIP(host) === 0) return new Client(target, credentials.createSsl(ca, key, cert), channelOptions);

  // grpc-js would send the IP address as the TLS server name, which only allows host names and makes Node warn. A
  // placeholder name is sent instead, and the certificate is verified for the address.
  const verify = {
    checkServerIdentity: (_name: string, peer: PeerCertificate) => checkServerIdentity(host, peer),
  };
  return new Client(target, credentials.createSsl(ca, key, cert, verify), {
    ...channelOptions,
    "grpc.ssl_target_name_override": "etcd",
  });
}

const endpointPattern = /^(?<scheme>https?):\/\/(\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]+))(:(?<port>\d+))?\/?$/;

export function parseEndpoint(url: string): { secure: boolean; host: string; port: string } {
  const { scheme, v6, name, port = "2379" } = endpointPattern.exec(url)?.groups ?? {};
  const host = v6 ?? name;
  if (!host) throw new Error(`etcd endpoint ${JSON.stringify(url)} must look like https://host:2379`);
  return { secure: scheme === "https", host, port };
}
