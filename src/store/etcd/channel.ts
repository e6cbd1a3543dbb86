import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import { Client, credentials } from "@grpc/grpc-js";
import { joinHostPort } from "../../lib/join-host-port.ts";

export interface EtcdTls {
  /** Who signed etcd's certificate; without it, those whom Node trusts. */
  ca?: Buffer;
  /** The client certificate and its key, where etcd asks for one. */
  cert?: Buffer;
  key?: Buffer;
}

const channelOptions = {
  // Values are bounded when they are written; a list of many of them is not.
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // Finds connections that died without a word. etcd hangs up on those who ping more often than every 5 s.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.service_config_disable_resolution": 1,
  "grpc.enable_http_proxy": 0,
  "grpc.use_local_subchannel_pool": 1,
};

export function openEtcdChannel(url: string, { ca, cert, key }: EtcdTls): Client {
  const { secure, host, port } = parseEndpoint(url);
  const target = `dns:${joinHostPort(host, port)}`;
  if (!secure) return new Client(target, credentials.createInsecure(), channelOptions);
  if (isIP(host) === 0) return new Client(target, credentials.createSsl(ca, key, cert), channelOptions);

  // grpc-js would put the address where TLS allows only a name, and Node warns of that. So any name goes there,
  // and the certificate is still checked for the address.
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
