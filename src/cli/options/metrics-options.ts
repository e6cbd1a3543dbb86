import { type Command, Option } from "commander";
import { isLoopback } from "../../lib/http/loopback.ts";
import { readGivenFile, UsageError } from "./command-errors.ts";
import { type ListenAddress, parseListenAddress } from "./common-options.ts";

export interface MetricsFlags {
  metricsListen?: ListenAddress;
  tlsCertFile?: string;
  tlsPrivateKeyFile?: string;
  clientCaFile?: string;
}

/** Address and credentials of a component's metrics endpoint. */
export type MetricsServing =
  /** HTTP without authentication, on loopback only. */
  | { readonly kind: "open"; readonly listen: ListenAddress }
  /** HTTPS for users that the cluster authenticates and authorizes. */
  | {
      readonly kind: "guarded";
      readonly listen: ListenAddress;
      /** Default: a self-signed certificate. */
      readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
      /** CA that signs client certificates. Default: the client CA that the cluster publishes. */
      readonly clientCa?: Buffer;
    };

export function addMetricsOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--metrics-listen <host:port>",
        "address to serve /metrics and /healthz on: HTTP on loopback, otherwise HTTPS for users who may get /metrics in the cluster; port 0 selects a free port (default: not served)",
      ).argParser(parseListenAddress),
    )
    .option("--tls-cert-file <file>", "serving certificate of the metrics endpoint, unless it is on loopback")
    .option("--tls-private-key-file <file>", "private key of --tls-cert-file")
    .option("--client-ca-file <file>", "CA of client certificates (default: the client CA of the cluster)");
}

/** Reads the flags of the metrics endpoint. Undefined if it is not served. */
export async function readMetricsServing(flags: MetricsFlags): Promise<MetricsServing | undefined> {
  const { metricsListen: listen, tlsCertFile, tlsPrivateKeyFile, clientCaFile } = flags;
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file must be set together");
  if (!listen || isLoopback(listen.host)) {
    // Without an address these options would have no effect.
    if (tlsCertFile !== undefined || clientCaFile !== undefined)
      throw new UsageError(
        "--tls-cert-file and --client-ca-file need a --metrics-listen address other than loopback: on loopback metrics are served without TLS",
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
