import { homedir } from "node:os";
import { join } from "node:path";
import {
  dataDirPaths,
  isRunning,
  readUpRecord,
  runtimeDirOf,
} from "../../cluster/data-dir/data-dir-files.ts";
import { runtimeSocket } from "../../cluster/host/runtime-socket.ts";

/** Finds the runtime of a running `kindling up` with the default data directory, the default of image commands. */
export async function runtimeOfUp(): Promise<
  { readonly endpoint: string; readonly dataDir: string } | undefined
> {
  const upDir = join(homedir(), ".kindling");
  const record = await readUpRecord(upDir);
  if (!isRunning(record) || record.runtime.kind !== "own") return undefined;
  // Only simulated clusters have more than one node.
  const nodeDir = join(dataDirPaths(upDir).nodes, "node-1");
  return { endpoint: `unix://${runtimeSocket(nodeDir)}`, dataDir: runtimeDirOf(nodeDir) };
}
