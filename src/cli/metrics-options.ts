import { type Command, Option } from "commander";
import { isLoopback } from "../lib/http/loopback.ts";
import { type ListenAddress, parseListenAddress } from "./listen-option.ts";
import { readGivenFile } from "./read-given-file.ts";
import { UsageError } from "./usage-error.ts";

export interface MetricsFlags {
  metricsListen?: ListenAddress;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  clientCaFile?: string;
}

/** Where a part of the control plane tells what it does. */
export type MetricsServing =
  /** On this machine only: by HTTP, to everybody. */
  | { readonly kind: "open"; readonly listen: ListenAddress }
  /** By HTTPS, to those whom the cluster knows and lets. */
  | {
      readonly kind: "guarded";
      readonly listen: ListenAddress;
      /** A certificate that signs itself is made when there is none. */
      readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
      /** Who shows a certificate of it is known by that; what the cluster says that it is, when there is none. */
      readonly clientCa?: Buffer;
    };

export function addMetricsOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--metrics-listen <host:port>",
        "serve /metrics and /healthz there: on loopback by HTTP, elsewhere by HTTPS to those who may get /metrics in the cluster; port 0 picks a free one (default: not served)",
      ).argParser(parseListenAddress),
    )
    .option("--tls-cert-file <file>", "the certificate to serve metrics with elsewhere than on loopback")
    .option("--tls-private-key-file <file>", "the key of that certificate")
    .option(
      "--client-ca-file <file>",
      "who shows a certificate of this CA is known by it (default: the cluster's)",
    );
}

/** Undefined where nothing is to be served. */
export async function readMetricsServing(flags: MetricsFlags): Promise<MetricsServing | undefined> {
  const { metricsListen: listen, tlsCertFile, tlsPrivateKeyFile, clientCaFile } = flags;
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  if (!listen || isLoopback(listen.host)) {
    // Whoever gives them expects more than what they would get.
    if (tlsCertFile !== undefined || clientCaFile !== undefined)
      throw new UsageError(
        "--tls-cert-file and --client-ca-file need a --metrics-listen elsewhere than on loopback: there is no TLS on loopback",
      );
    return listen && { kind: "open", listen };
  }
  const cert = await readGivenFile("--tls-cert-file", tlsCertFile);
  const key = await readGivenFile("--tls-private-key-file", tlsPrivateKeyFile);
  const clientCa = await readGivenFile("--client-ca-file", clientCaFile);
  return {
    kind: "guarded",
    listen,
    ...(cert && key && { tls: { cert, key } }),
    ...(clientCa && { clientCa }),
  };
}
