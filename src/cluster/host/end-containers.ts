import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { type CriClient, connectCri } from "../../cri/cri-client.ts";
import { removeNodeCgroups } from "../../kubelet/cgroups/open-pod-cgroups.ts";
import { podsDirectory } from "../../kubelet/model/pod-paths.ts";
import { isOwnSandbox } from "../../kubelet/ownership/decide-claim.ts";
import { readOwnerFacts } from "../../kubelet/ownership/open-ownership.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { noConfig } from "../../runtime/runtime-config.ts";
import type { UpRecord } from "../data-dir/data-dir-files.ts";
import { dataDirPaths, kubeletDirOf, runtimeDirOf } from "../data-dir/data-dir-files.ts";
import { runtimeSocket } from "./runtime-socket.ts";
import { removeServiceRules } from "./service-rules.ts";
import { unmountBelow } from "./unmount-below.ts";

/**
 * Stops the containers of a data directory that no `up` serves. Starts the runtime for it, which can recover containers,
 * mounts and networks from any state and removes its bridge with the last pod. The rules of services go with them.
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
    // Includes nodes whose runtime an earlier `up` started.
    const own = await readdir(runtimeDirOf(nodeDir)).catch(() => []);
    if (own.length > 0) ended += await endNode(nodeDir, { record, logger });
  }
  if (record?.runtime.kind !== "simulated") await removeServiceRules(dataDir);
  return ended;
}

async function endNode(
  nodeDir: string,
  { record, logger }: { record: UpRecord | undefined; logger: Logger },
): Promise<number> {
  const { startRuntime } = await import("../../runtime/start-runtime.ts");
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

/**
 * Stops and removes the pods of a node immediately and returns their number. In an external runtime, only pods that this
 * node's kubelet created or adopted are removed. Their volumes are unmounted.
 */
export async function removePods(
  cri: CriClient,
  { runtime, nodeDir }: { readonly runtime: "own" | "simulated" | "endpoint"; readonly nodeDir: string },
): Promise<number> {
  const kubeletDir = kubeletDirOf(nodeDir);
  const nodeName = basename(nodeDir);
  const { items } = await cri.runtime.listPodSandbox({ filter: undefined });
  const facts = await readOwnerFacts({ dataDir: kubeletDir, nodeName });
  const pods = items.filter((sandbox) => runtime !== "endpoint" || isOwnSandbox(sandbox, facts));
  await Promise.all(pods.map(({ id }) => cri.runtime.removePodSandbox({ podSandboxId: id })));
  if (runtime !== "simulated") {
    await unmountBelow(podsDirectory(kubeletDir));
    await removeNodeCgroups({ nodeName, dataDir: kubeletDir, clock: systemClock });
  }
  return pods.length;
}
