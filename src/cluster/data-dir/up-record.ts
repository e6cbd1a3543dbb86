import { readFile } from "node:fs/promises";
import { writeFileAtomic } from "../../runtime/content/write-file-atomic.ts";
import { isAlive, type ProcessIdentity } from "../../runtime/driver/linux/process-info.ts";
import type { RuntimeChoice } from "../node.ts";
import { dataDirPaths } from "./data-dir-paths.ts";

/** What `up` leaves in its data directory for `status`, `down`, `reset` and the next `up`. */
export interface UpRecord {
  /** Not only the pid: that may be somebody else's by now. */
  readonly process: ProcessIdentity;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly store: "lmdb" | "memory" | "etcd";
  readonly runtime: RuntimeChoice;
  /** RuntimeClass handlers, without which their containers could not be ended. */
  readonly handlers: Readonly<Record<string, string>>;
  readonly ephemeral: boolean;
  /** Other kubeconfigs that it was merged into, by this or an earlier `up`. */
  readonly mergedInto: readonly string[];
  /** Once it serves. */
  readonly serving?: {
    readonly url: string;
    readonly kubeconfig: string;
    /** What runs containers, of all that `runtime` leaves open: `oci (runc)`. Earlier versions did not tell. */
    readonly runtimeName?: string;
    /** The page's address, where there is one. */
    readonly dashboard?: string;
  };
}

export async function writeUpRecord(dataDir: string, record: UpRecord): Promise<void> {
  await writeFileAtomic(dataDirPaths(dataDir).upRecord, `${JSON.stringify(record, null, 2)}\n`);
}

/** Undefined where there is none, or none that can be read: nobody may be signalled because of that. */
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

/** The `up` that runs now, if one does. */
export function isRunning(record: UpRecord | undefined): record is UpRecord {
  return record !== undefined && isAlive(record.process);
}
