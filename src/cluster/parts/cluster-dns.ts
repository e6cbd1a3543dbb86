/** Address of the service `kube-system/kube-dns`: the tenth of the service range. */
export const clusterDnsAddress = "10.96.0.10";

export interface ClusterDns {
  /** Addresses of DNS servers that pods use. */
  readonly addresses: readonly string[];
  close(): Promise<void>;
}
