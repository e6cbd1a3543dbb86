import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFailed, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { runtimeSocket } from "../../src/cluster/host/runtime-socket.ts";
import { connectCri } from "../../src/cri/cri-client.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell } from "../support/node/runtime-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

/** 100 kills for each driver in CI. */
const kills = rounds(10);

/** Pod with a projected volume, an emptyDir and logs. */
const podNamed = (name: string) =>
  makePod(name, {
    ...userPod,
    terminationGracePeriodSeconds: 0,
    volumes: [
      { name: "facts", projected: { sources: [{ downwardAPI: { items: [nameItem] } }] } },
      { name: "memory", emptyDir: { medium: "Memory" } },
    ],
    container: {
      ...shell("echo started; sleep 1000"),
      imagePullPolicy: "IfNotPresent",
      volumeMounts: [
        { name: "facts", mountPath: "/facts" },
        { name: "memory", mountPath: "/memory" },
      ],
    },
  });
const nameItem = { path: "name", fieldRef: { fieldPath: "metadata.name" } };

/** Creates pods and force-deletes older ones until the server stops. */
async function churn(client: Client, run: number): Promise<void> {
  try {
    for (let i = 0; ; i++) {
      await client.create("pods", podNamed(`p${run}-${i}`));
      const { items } = await client.list("pods", { namespace: "default" });
      const [oldest] = [...items].sort((a, b) => (a.metadata.uid ?? "").localeCompare(b.metadata.uid ?? ""));
      if (items.length > 3 && oldest) await forceDelete(client, oldest.metadata.name ?? "");
    }
  } catch {
    // The server was killed, as intended.
  }
}

const forceDelete = (client: Client, name: string) =>
  client.delete("pods", { namespace: "default", name }, { gracePeriodSeconds: 0 });

/** Starts `up` and kills it after a delay, with pods coming and going once it serves. */
async function killAfter(delayMs: number, args: readonly string[], run: number): Promise<void> {
  const { child, output, exit } = await runKindling(["up", "--listen", "127.0.0.1:0", ...args]);
  const kill = setTimeout(() => child.kill("SIGKILL"), delayMs);
  const kubeconfig = await new Promise<string | undefined>((resolve) => {
    child.stdout?.on("data", () => {
      const found = /export KUBECONFIG=(\S+)\n/.exec(output.stdout)?.[1];
      if (found) resolve(found);
    });
    child.once("close", () => resolve(undefined));
  });
  if (kubeconfig) {
    const client = await connectCluster({ kubeconfig });
    await churn(client, run);
    client.close();
  }
  const code = await exit;
  clearTimeout(kill);
  if (code !== null) throw new Error(`up ended with ${code}: ${output.stderr}`);
}

/** Directories and mounts of a node that belong to no pod, sandbox or container that exists. */
async function findUnowned(client: Client, nodeDir: string): Promise<string[]> {
  const { items } = await client.list("pods", { namespace: "default" });
  const uids = new Set(items.map(({ metadata }) => metadata.uid ?? ""));
  const cri = connectCri(`unix://${runtimeSocket(nodeDir)}`);
  const ids = new Set<string>();
  try {
    const sandboxes = await cri.runtime.listPodSandbox({ filter: undefined });
    for (const { id, metadata } of sandboxes.items) if (uids.has(metadata?.uid ?? "")) ids.add(id);
    const { containers } = await cri.runtime.listContainers({ filter: undefined });
    for (const { id, podSandboxId } of containers) if (ids.has(podSandboxId)) ids.add(id);
  } finally {
    cri.close();
  }
  const list = async (directory: string) =>
    (await readdir(join(nodeDir, directory)).catch(() => [])).map((name) => join(nodeDir, directory, name));
  const directories = await Promise.all([
    ...["kubelet/pods", "kubelet/logs"].map(list),
    ...["runtime/sandboxes", "runtime/containers", "runtime/images/rootfs", "runtime/images/staging"].map(
      list,
    ),
    ...["oci/containers", "host/containers"].map((name) => list(`runtime/driver/${name}`)),
    list("runtime/images").then((paths) => paths.filter((path) => path.includes("probe"))),
    list("runtime/driver").then((paths) => paths.filter((path) => path.includes("kindling-probe"))),
  ]);
  const mounts = (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(`${nodeDir}/`));
  const owners = [...uids, ...ids];
  return [...directories.flat(), ...mounts].filter((path) => !owners.some((owner) => path.includes(owner)));
}

const reset = async (dataDir: string) => (await runKindling(["reset", "--yes", "--data-dir", dataDir])).exit;

describeWithTool("busybox", "kindling up", () => {
  describeEachDriver((driver) => {
    const folder = temporaryFolder();

    test(`leaves no directory and no mount without an owner after ${kills} kills`, {
      timeout: 1_800_000,
    }, async () => {
      const dataDir = join(folder, driver);
      const nodeDir = join(dataDir, "nodes/node-1");
      const args = ["--data-dir", dataDir, "--runtime", driver, "--log-level", "warn"];
      const begun = performance.now();
      const first = await startUp(args);
      const startMs = performance.now() - begun;
      await buildBusybox({ dataDir: join(nodeDir, "runtime"), directory: folder });
      await first.kill("SIGKILL");
      const delays: number[] = [];
      onTestFailed(async () => {
        console.error(`killed after ${delays.join(", ")} ms`);
        await reset(dataDir);
      });
      for (let run = 0; run < kills; run++) {
        const delayMs = Math.round(startMs * Math.random() * 1.5);
        delays.push(delayMs);
        await killAfter(delayMs, args, run);
      }
      const up = await startUp(args);
      const client = await connectCluster({ kubeconfig: up.kubeconfig });
      await expect.poll(() => findUnowned(client, nodeDir), { timeout: 60_000, interval: 500 }).toEqual([]);
      for (const { metadata } of (await client.list("pods", { namespace: "default" })).items)
        await forceDelete(client, metadata.name ?? "");
      await expect.poll(() => findUnowned(client, nodeDir), { timeout: 60_000, interval: 500 }).toEqual([]);
      client.close();
      expect(await reset(dataDir)).toBe(0);
      await up.exit;
      expect(existsSync(nodeDir)).toBe(false);
    });

    test("unmounts the volumes of its pods on SIGTERM with --ephemeral and a data directory", async () => {
      const dataDir = join(folder, `${driver}-ephemeral`);
      const nodeDir = join(dataDir, "nodes/node-1");
      onTestFailed(async () => void (await reset(dataDir)));
      const up = await startUp(["--data-dir", dataDir, "--runtime", driver, "--ephemeral"]);
      await buildBusybox({ dataDir: join(nodeDir, "runtime"), directory: join(folder, "ephemeral") });
      const client = await connectCluster({ kubeconfig: up.kubeconfig });
      await client.create("pods", podNamed("web"));
      const mounts = async () =>
        (await readFile("/proc/self/mountinfo", "utf8")).split("\n").filter((line) => line.includes(nodeDir));
      await expect
        .poll(async () => (await mounts()).filter((line) => line.includes("/volumes/")).length)
        .toBeGreaterThan(0);
      client.close();
      expect(await up.kill("SIGTERM")).toBe(0);
      expect(await mounts()).toEqual([]);
    });
  });
});
