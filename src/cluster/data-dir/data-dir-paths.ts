import { join } from "node:path";

/** Paths in the data directory of a cluster. */
export function dataDirPaths(dataDir: string) {
  return {
    version: join(dataDir, "version.json"),
    /** Record of the process that runs, or last ran, the cluster. */
    upRecord: join(dataDir, "up.json"),
    kubeconfig: join(dataDir, "kubeconfig"),
    pki: join(dataDir, "pki"),
    store: join(dataDir, "store"),
    nodes: join(dataDir, "nodes"),
    /** Volumes of the local provisioner. */
    volumes: join(dataDir, "volumes"),
    monitor: join(dataDir, "monitor"),
  };
}

/** Directory of the runtime of a node. */
export function runtimeDirOf(nodeDir: string): string {
  return join(nodeDir, "runtime");
}

/** Directory of the kubelet of a node, with volumes and logs. */
export function kubeletDirOf(nodeDir: string): string {
  return join(nodeDir, "kubelet");
}
