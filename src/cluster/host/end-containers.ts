import { createHash } from "node:crypto";
import { readdir, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type CriClient, connectCri } from "../../cri/cri-client.ts";
import { removeNodeCgroups } from "../../kubelet/cgroups/open-pod-cgroups.ts";
import { podsDirectory } from "../../kubelet/model/pod-paths.ts";
import { isOwnSandbox } from "../../kubelet/ownership/decide-claim.ts";
import { readOwnerFacts } from "../../kubelet/ownership/open-ownership.ts";
import { createMounter } from "../../kubelet/volumes/mounter.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { nftablesProblem, removeTables } from "../../proxy/nftables/nftables-backend.ts";
import type { MadeRecord } from "../../runtime/drivers/container-files.ts";
import { isAlive } from "../../runtime/drivers/linux/process-info.ts";
import { noConfig } from "../../runtime/runtime-config.ts";
import { decodeContainer } from "../../runtime/state/container-record.ts";
import { dataDirPaths, kubeletDirOf, runtimeDirOf, type UpRecord } from "../data-dir/data-dir-files.ts";

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

/** Socket of a node's runtime. The kernel limits socket paths to 107 bytes. */
export function runtimeSocket(nodeDir: string): string {
  const path = join(nodeDir, "runtime.sock");
  if (Buffer.byteLength(path) <= 107) return path;
  return join(tmpdir(), `kindling-${createHash("sha256").update(nodeDir).digest("hex").slice(0, 16)}.sock`);
}

/** Name of the packet tables of a cluster's services: each data directory has its own. */
export function serviceTable(dataDir: string): string {
  return `kindling-${createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 12)}`;
}

/** Removes the packet tables that the service proxy of a stopped cluster left. */
async function removeServiceRules(dataDir: string): Promise<void> {
  // A machine without nftables, or a user without the right to use it, has created none.
  if (await nftablesProblem()) return;
  await removeTables(serviceTable(dataDir));
}

/** Unmounts everything below a directory and returns the number of mounts. */
export async function unmountBelow(directory: string): Promise<number> {
  const mounter = createMounter();
  // The kernel lists mounts by their real paths.
  const path = await realpath(directory).catch(() => directory);
  const points = await mounter.mountPointsBelow(path);
  for (const point of points) {
    try {
      await mounter.unmount(point);
    } catch (error) {
      // A runtime that is just stopping may unmount the same point.
      if ((await mounter.mountPointsBelow(point)).includes(point)) throw error;
    }
  }
  return points.length;
}

export interface RunningContainer {
  readonly id: string;
  readonly node: string;
  readonly pid: number;
  /** Empty if the records do not contain it. */
  readonly name: string;
}

/** Running containers of Kindling's runtime, found by its files; works while the runtime is stopped. */
export async function runningContainers(dataDir: string): Promise<readonly RunningContainer[]> {
  const { nodes } = dataDirPaths(dataDir);
  const found = (await namesIn(nodes)).map(async (node) => {
    const runtimeDir = runtimeDirOf(join(nodes, node));
    const driverDir = join(runtimeDir, "driver");
    const handlers = await namesIn(join(driverDir, "handlers"));
    const drivers = [driverDir, ...handlers.map((name) => join(driverDir, "handlers", name))];
    const lists = drivers
      .flatMap((dir) => [join(dir, "oci", "containers"), join(dir, "host", "containers")])
      .map(async (dir) => {
        const ids = await namesIn(dir);
        return Promise.all(
          ids.map((id) => describe({ id, node, runtimeDir, made: join(dir, id, "made.json") })),
        );
      });
    return (await Promise.all(lists)).flat(2);
  });
  return (await Promise.all(found)).flat().sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function describe(at: {
  id: string;
  node: string;
  runtimeDir: string;
  made: string;
}): Promise<RunningContainer[]> {
  const made = await readJson<MadeRecord>(at.made);
  if (!made?.container || !isAlive(made.container)) return [];
  const { id, node } = at;
  return [{ id, node, pid: made.container.pid, name: await nameOf(at) }];
}

async function nameOf({ runtimeDir, id }: { runtimeDir: string; id: string }): Promise<string> {
  const record = await readJson(join(runtimeDir, "containers", `${id}.json`));
  try {
    const { labels } = decodeContainer(record).config;
    const part = (name: string) => labels[`io.kubernetes.${name}`] ?? "";
    return `${part("pod.namespace")}/${part("pod.name")}/${part("container.name")}`;
  } catch {
    // The process of a sandbox, or one without a record.
    return "";
  }
}

async function readJson<T = unknown>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
