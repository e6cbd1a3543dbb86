import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { connectCri } from "../cri/cri-client.ts";
import type { Logger } from "../lib/logger.ts";
import { noConfig } from "../runtime/runtime-config.ts";
import { dataDirPaths, runtimeDirOf } from "./data-dir/data-dir-paths.ts";
import type { UpRecord } from "./data-dir/up-record.ts";
import { removePods } from "./remove-pods.ts";
import { runtimeSocket } from "./runtime-socket.ts";

/**
 * Ends what runs in a data directory that no `up` serves. The runtime itself is started for it: it knows containers,
 * mounts and networks in whatever state they were left, and takes its bridge away when the last pod is gone.
 */
export async function endContainers(options: {
  readonly dataDir: string;
  readonly record: UpRecord | undefined;
  readonly logger: Logger;
}): Promise<number> {
  const { dataDir, record, logger } = options;
  const { nodes } = dataDirPaths(dataDir);
  let ended = 0;
  for (const node of await readdir(nodes).catch(() => [])) {
    const nodeDir = join(nodes, node);
    if (record?.runtime.kind === "endpoint") {
      const cri = connectCri(record.runtime.endpoint);
      ended += await removePods(cri, { runtime: "endpoint", nodeDir }).finally(() => cri.close());
    }
    // Also where an earlier `up` had a runtime of its own.
    const own = await readdir(runtimeDirOf(nodeDir)).catch(() => []);
    if (own.length > 0) ended += await endNode(nodeDir, { record, logger });
  }
  return ended;
}

async function endNode(
  nodeDir: string,
  { record, logger }: { record: UpRecord | undefined; logger: Logger },
): Promise<number> {
  const { startRuntime } = await import("../runtime/start-runtime.ts");
  const listen = `unix://${runtimeSocket(nodeDir)}`;
  const runtime = await startRuntime({
    dataDir: runtimeDirOf(nodeDir),
    listen,
    driver: record?.runtime.kind === "own" ? record.runtime.driver : "auto",
    config: { ...noConfig, handlers: new Map(Object.entries(record?.handlers ?? {})) },
    logger,
  });
  const cri = connectCri(listen);
  try {
    return await removePods(cri, { runtime: "own", nodeDir });
  } finally {
    cri.close();
    await runtime.close();
  }
}
