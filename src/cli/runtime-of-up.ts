import { homedir } from "node:os";
import { join } from "node:path";
import { dataDirPaths, runtimeDirOf } from "../cluster/data-dir/data-dir-paths.ts";
import { isRunning, readUpRecord } from "../cluster/data-dir/up-record.ts";
import { runtimeSocket } from "../cluster/runtime-socket.ts";

/** The runtime inside a `kindling up` that runs with the usual data directory: what people mean who name none. */
export async function runtimeOfUp(): Promise<
  { readonly endpoint: string; readonly dataDir: string } | undefined
> {
  const upDir = join(homedir(), ".kindling");
  const record = await readUpRecord(upDir);
  if (!isRunning(record) || record.runtime.kind !== "own") return undefined;
  // A machine is one node: only simulated ones are more.
  const nodeDir = join(dataDirPaths(upDir).nodes, "node-1");
  return { endpoint: `unix://${runtimeSocket(nodeDir)}`, dataDir: runtimeDirOf(nodeDir) };
}
