import { join } from "node:path";

/** What a cluster keeps in its directory, and where. */
export function dataDirPaths(dataDir: string) {
  return {
    version: join(dataDir, "version.json"),
    /** Who runs, or last ran, the cluster. */
    upRecord: join(dataDir, "up.json"),
    kubeconfig: join(dataDir, "kubeconfig"),
    pki: join(dataDir, "pki"),
    store: join(dataDir, "store"),
    nodes: join(dataDir, "nodes"),
    /** What the local provisioner gave to claims. */
    volumes: join(dataDir, "volumes"),
    monitor: join(dataDir, "monitor"),
  };
}

/** Where a node keeps images and containers when it runs them itself. */
export function runtimeDirOf(nodeDir: string): string {
  return join(nodeDir, "runtime");
}

/** Where its kubelet keeps volumes and logs. */
export function kubeletDirOf(nodeDir: string): string {
  return join(nodeDir, "kubelet");
}
