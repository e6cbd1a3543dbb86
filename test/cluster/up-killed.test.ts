import { join } from "node:path";
import { describe, expect, onTestFailed, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { startUp } from "../support/cluster/up-process.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { makePod, userPod } from "../support/manifests/pod.ts";
import { shell } from "../support/node/runtime-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const podNamed = (name: string) =>
  makePod(name, {
    ...userPod,
    terminationGracePeriodSeconds: 0,
    container: { ...shell("sleep 1000"), imagePullPolicy: "IfNotPresent" },
  });

/** Objects whose creation was answered: from then on they must be there, whatever happens. */
interface Answered {
  readonly configMaps: Set<string>;
  readonly pods: Set<string>;
}

/** Writes until the server stops. */
async function writeOn(client: Client, run: number, answered: Answered): Promise<void> {
  try {
    const pod = await client.create("pods", podNamed(`p${run}`));
    answered.pods.add(pod.metadata.name ?? "");
    for (let i = 0; ; i++) {
      const { metadata } = await client.create("configmaps", makeConfigMap(`m${run}-${i}`));
      answered.configMaps.add(metadata.name ?? "");
    }
  } catch {
    // Killed under our hands, as intended; what was not answered may be there or not.
  }
}

/** Starts `up`, writes as soon as it serves, and kills it after so long, wherever it is then. */
async function killAfter(
  delayMs: number,
  { args, run, answered }: { args: readonly string[]; run: number; answered: Answered },
): Promise<void> {
  const { child, output, exit } = await runKindling(["up", "--listen", "127.0.0.1:0", ...args]);
  const kill = setTimeout(() => child.kill("SIGKILL"), delayMs);
  const announced = new Promise<string | undefined>((resolve) => {
    child.stdout?.on("data", () => {
      const kubeconfig = /export KUBECONFIG=(\S+)\n/.exec(output.stdout)?.[1];
      if (kubeconfig) resolve(kubeconfig);
    });
    child.once("close", () => resolve(undefined));
  });
  const kubeconfig = await announced;
  if (kubeconfig) {
    const client = await connectCluster({ kubeconfig });
    await writeOn(client, run, answered);
    client.close();
  }
  const code = await exit;
  clearTimeout(kill);
  // A process that was killed has no exit code.
  if (code !== null) throw new Error(`up ended with ${code}: ${output.stderr}`);
}

async function expectAll(client: Client, { configMaps, pods }: Answered): Promise<void> {
  const names = async (kind: "configmaps" | "pods") =>
    (await client.list(kind, { namespace: "default" })).items.map(({ metadata }) => metadata.name);
  expect(await names("configmaps")).toEqual(expect.arrayContaining([...configMaps]));
  expect(await names("pods")).toEqual(expect.arrayContaining([...pods]));
  await expect
    .poll(
      async () => {
        const { items } = await client.list("pods", { namespace: "default" });
        return items.filter(
          ({ status }) =>
            !status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
        ).length;
      },
      { timeout: 90_000, interval: 200 },
    )
    .toBe(0);
}

/** Kill points from the very first moment to well after it serves. */
async function killAndContinue(args: readonly string[], kills: number): Promise<Answered> {
  const answered: Answered = { configMaps: new Set(), pods: new Set() };
  const delays: number[] = [];
  onTestFailed(() => console.error(`killed after ${delays.join(", ")} ms`));
  const begun = performance.now();
  const first = await startUp(args);
  // How long a start takes here and now: what the others are killed within.
  const startMs = performance.now() - begun;
  const client = await connectCluster({ kubeconfig: first.kubeconfig });
  const writing = writeOn(client, 0, answered);
  await expect.poll(() => answered.configMaps.size).toBeGreaterThan(2);
  await first.kill("SIGKILL");
  await writing;
  client.close();
  for (let run = 1; run < kills; run++) {
    const delayMs = Math.round(startMs * Math.random() * 1.5);
    delays.push(delayMs);
    await killAfter(delayMs, { args, run, answered });
  }
  return answered;
}

const timeout = 600_000;
/** Kills of each of the four clusters without containers, the first one included. */
const kills = 1 + rounds(1);
const killsWithContainers = 1 + rounds(1);

describe("kindling up, killed at random points and continued", () => {
  const folder = temporaryFolder();

  test(`${4 * kills} times without containers: no acknowledged write is lost, and pods run again`, {
    timeout,
  }, async () => {
    // Side by side: they also hold each other up, each time at another point.
    const clusters = ["a", "b", "c", "d"].map(async (name) => {
      const args = ["--data-dir", join(folder, name), "--runtime", "simulated"];
      const answered = await killAndContinue(args, kills);
      const up = await startUp(args);
      const client = await connectCluster({ kubeconfig: up.kubeconfig });
      await expectAll(client, answered);
      client.close();
      expect(await up.kill("SIGTERM")).toBe(0);
    });
    await Promise.all(clusters);
  });

  describeWithTool("busybox", "on our runtime", () => {
    test(`${killsWithContainers} times with containers, which keep running or restart; reset removes everything`, {
      timeout,
    }, async () => {
      const dataDir = join(folder, "own");
      const args = ["--data-dir", dataDir];
      const first = await startUp(args);
      await buildBusybox({ dataDir: join(dataDir, "nodes/node-1/runtime"), directory: folder });
      await first.kill("SIGKILL");
      const answered = await killAndContinue(args, killsWithContainers);
      const up = await startUp(args);
      const client = await connectCluster({ kubeconfig: up.kubeconfig });
      await client.create("pods", podNamed("last"));
      await expectAll(client, answered);
      client.close();
      const reset = await runKindling(["reset", "--yes", "--data-dir", dataDir]);
      expect(await reset.exit).toBe(0);
      expect(reset.output.stdout).toMatch(/^Stopped \d+ pods? and removed /);
      expect(await up.exit).toBe(0);
    });
  });
});
