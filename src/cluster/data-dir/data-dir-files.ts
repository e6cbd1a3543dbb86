import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { isAlive, type ProcessIdentity } from "../../runtime/drivers/linux/process-info.ts";

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
    /** Addresses that the service proxy added to an interface. */
    serviceAddresses: join(dataDir, "service-addresses.json"),
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

/** Record that `up` writes into its data directory for `status`, `down`, `reset` and the next `up`. */
export interface UpRecord {
  /** Identifies the process; the pid alone could have been reused. */
  readonly process: ProcessIdentity;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly store: "lmdb" | "memory" | "etcd";
  readonly runtime: RuntimeChoice;
  /** RuntimeClass handlers, needed to stop their containers. */
  readonly handlers: Readonly<Record<string, string>>;
  readonly ephemeral: boolean;
  /** Kubeconfigs into which the access was merged, by this or an earlier `up`. */
  readonly mergedInto: readonly string[];
  /** Set once the cluster serves requests. */
  readonly serving?: {
    readonly url: string;
    readonly kubeconfig: string;
    /** Driver that runs containers: `oci (runc)`. Missing in records of earlier versions. */
    readonly runtimeName?: string;
    /** URL of the dashboard. */
    readonly dashboard?: string;
  };
}

export async function writeUpRecord(dataDir: string, record: UpRecord): Promise<void> {
  await writeFileAtomic(dataDirPaths(dataDir).upRecord, `${JSON.stringify(record, null, 2)}\n`);
}

/** Reads the record. Undefined if it is missing or invalid, so that no process is signalled by mistake. */
export async function readUpRecord(dataDir: string): Promise<UpRecord | undefined> {
  const text = await readFile(dataDirPaths(dataDir).upRecord, "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
      return "";
    },
  );
  try {
    const record: UpRecord = JSON.parse(text);
    const { pid, startTicks, bootId } = record.process;
    const sound = Number.isSafeInteger(pid) && pid > 1 && Number.isSafeInteger(startTicks) && bootId;
    return sound && Array.isArray(record.mergedInto) && record.runtime.kind ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Record of the running `up`. Undefined if none runs. */
export function isRunning(record: UpRecord | undefined): record is UpRecord {
  return record !== undefined && isAlive(record.process);
}

/** Container runtime of a node: Kindling's own, the simulated one, or another CRI endpoint. */
export type RuntimeChoice =
  | { readonly kind: "own"; readonly driver: "auto" | "oci" | "host" }
  /** `handlers`: names that a RuntimeClass may refer to. */
  | { readonly kind: "simulated"; readonly handlers?: readonly string[] }
  | { readonly kind: "endpoint"; readonly endpoint: string };
