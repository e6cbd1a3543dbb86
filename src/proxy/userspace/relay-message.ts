import type { ServiceEndpoint } from "../model/choose-endpoints.ts";

/** Address on which the relay listens, and where it sends connections. */
export interface RelayListener {
  readonly protocol: "TCP" | "UDP";
  readonly host: string;
  readonly port: number;
  readonly endpoints: readonly Pick<ServiceEndpoint, "address" | "port">[];
  /** Timeout of session affinity by client IP. Undefined without affinity. */
  readonly affinitySeconds: number | undefined;
  /** `local`: only this machine and its pods are served. */
  readonly clients: "all" | "local";
  /** Ranges to which clients are limited besides. Empty: no limit. */
  readonly sourceRanges: readonly string[];
}

/** Message to the relay: listeners to open or change, and keys of those to close. */
export interface RelayRequest {
  readonly id: number;
  readonly set: readonly RelayListener[];
  readonly close: readonly string[];
}

export interface RelayResponse {
  readonly id: number;
  /** Sentences about listeners that could not be opened. */
  readonly failures: readonly string[];
}

export function listenerKey({
  protocol,
  host,
  port,
}: Pick<RelayListener, "protocol" | "host" | "port">): string {
  return `${protocol} ${host} ${port}`;
}
