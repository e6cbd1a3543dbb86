import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, type TestContext, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { createStartupCheckpoints } from "../../src/kubelet/model/startup-checkpoints.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { SimulationRule } from "../../src/simulated/scripts/rules.ts";
import { type SimulatedRuntime, startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { makeConfigMap } from "../support/manifests/config-map.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer } from "../support/servers/api-server.ts";
import { canMount } from "./volume/volumes-on-machine.ts";

const directory = temporaryFolder();
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** Each step is delayed, so that kills hit every step. */
const slowSteps: SimulationRule[] = [
  { sandbox: { delayMs: 60 }, container: { startDelayMs: 25 } },
  { match: { container: "init-*" }, container: { startDelayMs: 25, exit: { code: 0, afterMs: 40 } } },
];

/** Two init containers, a sidecar, two containers with a hook each, and volumes of three kinds. */
const spec = {
  initContainers: [
    { name: "init-1", image: "setup:1" },
    { name: "side", image: "side:1", restartPolicy: "Always" },
    { name: "init-2", image: "setup:1" },
  ],
  containers: ["one", "two"].map((name) => ({
    name,
    image: "web:1",
    lifecycle: { postStart: { exec: { command: ["register"] } } },
    volumeMounts: ["memory", "disk", "settings"].map((volume) => ({ name: volume, mountPath: `/${volume}` })),
  })),
  volumes: [
    { name: "memory", emptyDir: canMount() ? { medium: "Memory" } : {} },
    { name: "disk", emptyDir: {} },
    { name: "settings", configMap: { name: "settings" } },
  ],
};
const containersEach = 5;

async function startSimulated(script: readonly SimulationRule[], listen?: string): Promise<SimulatedRuntime> {
  return startSimulatedRuntime({
    logger: silentLogger,
    imagesPresent: true,
    script,
    ...(listen && { listen }),
  });
}

function makeSettings({ client }: Pick<KubeletNode, "client">) {
  return client.create("configmaps", makeConfigMap("settings", { data: { colour: "blue" } }));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const restartCounts = ({ status }: Pod) =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
    ({ restartCount }) => restartCount,
  );

/** Each container of the pod has been made once, and that one has started. */
function expectStartedOnce({ state }: SimulatedRuntime, { metadata }: Pod): void {
  const sandboxes = state.byPod.get(metadata.uid ?? "") ?? [];
  const made = sandboxes.flatMap(({ containers }) => containers);
  expect(sandboxes.filter((sandbox) => sandbox.state === "ready")).toHaveLength(1);
  expect(made.map((container) => container.metadata.name).sort()).toEqual([
    ...["init-1", "init-2", "one", "side", "two"],
  ]);
  for (const container of made) {
    expect(container.metadata.attempt).toBe(0);
    expect(container.state.kind).toBe(container.metadata.name.startsWith("init-") ? "exited" : "running");
  }
}

async function mountsBelow(path: string): Promise<string[]> {
  return (await readFile("/proc/self/mounts", "utf8")).split("\n").filter((line) => line.includes(path));
}

async function expectNothingLeft(
  { expect }: TestContext,
  { state }: SimulatedRuntime,
  dataDir: string,
): Promise<void> {
  const left = async () => {
    const folders = await Promise.all(["pods", "logs"].map((folder) => readdir(join(dataDir, folder))));
    return [...state.sandboxes, ...state.containers, ...folders.flat(), ...(await mountsBelow(dataDir))];
  };
  await expect.poll(left).toEqual([]);
}

describe("a kubelet that is restarted loses nothing", () => {
  const maxKills = rounds(10);
  // Each kill takes as long as a kubelet takes to start, beside four other tests.
  const timeout = 300_000;
  test.concurrent(`after ${maxKills} kills at random times no container has started twice, no pod hangs and nothing leaks`, {
    timeout,
  }, async (context) => {
    const simulated = await startSimulated(slowSteps);
    const started = new Map<string, number>();
    const node = await startKubeletNode({ cri: countStarts(simulated, started) });
    closing.push(() => node.close().then(() => simulated.close()));
    await makeSettings(node);
    const alive: Pod[] = [];
    const deleted: Pod[] = [];
    for (let kills = 0; kills < maxKills; kills++) {
      if (kills % 3 === 0) alive.push(await node.run(`pod-${kills}`, spec));
      if (kills % 9 === 8) {
        const [pod] = alive.splice(Math.floor(Math.random() * alive.length), 1);
        if (!pod) continue;
        deleted.push(pod);
        await node.client.delete("pods", { namespace: "default", name: pod.metadata.name ?? "" });
      }
      await pause(Math.random() * 150);
      node.kill();
      await node.start({ untilReady: false });
    }
    for (const { metadata } of deleted) await node.untilGone(metadata.name ?? "");
    for (const { metadata } of alive) {
      const pod = await node.until(metadata.name ?? "", isReady);
      expect(restartCounts(pod)).toEqual(Array(containersEach).fill(0));
      expectStartedOnce(simulated, pod);
    }
    expect([...started].filter(([, times]) => times > 1)).toEqual([]);
    await context.expect.poll(() => simulated.state.byPod.size).toBe(alive.length);

    await node.client.deleteCollection("pods", { namespace: "default" });
    for (const { metadata } of alive) await node.untilGone(metadata.name ?? "");
    await expectNothingLeft(context, simulated, node.dataDir);
  });

  test.concurrent("the process itself, by SIGKILL", async (context) => {
    const { expect } = context;
    const endpoint = `unix://${join(directory, "killed.sock")}`;
    const dataDir = join(directory, "killed");
    const simulated = await startSimulated(slowSteps, endpoint);
    const server = await startTestServer();
    // A node without a kubelet in this process: the kubelet is a separate process.
    const node = await startKubeletNode({ cri: simulated.client, server, name: "killed" });
    await node.stop();
    closing.push(async () => {
      await node.close();
      await simulated.close();
      await server.close();
    });
    await makeSettings(node);
    const args = [
      ...["kubelet", "--kubeconfig", server.kubeconfig, "--runtime-endpoint", endpoint],
      ...["--node-name", "killed", "--data-dir", dataDir, "--config", await writeConfig()],
    ];
    const names: string[] = [];
    for (let kills = 0; kills < 3; kills++) {
      names.push(`killed-${kills}`);
      await node.run(`killed-${kills}`, spec);
      const { child, output, exit } = await runKindling(args);
      await expect.poll(() => output.stdout + output.stderr).toMatch(/registered/);
      await pause(Math.random() * 400);
      child.kill("SIGKILL");
      await exit;
    }
    const last = await runKindling(args);
    for (const name of names) {
      const pod = await node.until(name, isReady);
      expect(restartCounts(pod)).toEqual(Array(containersEach).fill(0));
      expectStartedOnce(simulated, pod);
    }
    await node.client.deleteCollection("pods", { namespace: "default" });
    for (const name of names) await node.untilGone(name);
    await expectNothingLeft(context, simulated, dataDir);
    last.child.kill("SIGTERM");
    expect(await last.exit).toBe(0);
  });

  test.concurrent("a crash loop's back-off continues after a restart of the kubelet", async () => {
    const simulated = await startSimulated([
      { match: { container: "crashing" }, container: { exit: { code: 1, times: 2 } } },
    ]);
    const node = await startKubeletNode({ cri: simulated.client });
    closing.push(() => node.close().then(() => simulated.close()));
    await node.run("looping", { containers: [{ name: "crashing", image: "web:1" }] });
    const statusOf = (pod: Pod) => pod.status?.containerStatuses?.[0];
    const waiting = await node.until(
      "looping",
      (pod) =>
        statusOf(pod)?.restartCount === 1 && statusOf(pod)?.state?.waiting?.reason === "CrashLoopBackOff",
    );
    const message = statusOf(waiting)?.state?.waiting?.message;
    expect(message).toMatch(/^back-off 10s restarting failed container=crashing pod=looping_default\(/);
    const history = await node.follow("looping");
    for (let restarts = 0; restarts < 3; restarts++) {
      node.kill();
      await node.start();
    }
    const back = await node.until("looping", isReady, 60_000);
    await history.stop();
    expect(statusOf(back)?.restartCount).toBe(2);
    // Neither restarted nor extended.
    const said = history.versions.flatMap((pod) => statusOf(pod)?.state?.waiting?.message ?? []);
    expect(said.filter((text) => text !== message)).toEqual([]);
    const ended = Date.parse(statusOf(back)?.lastState?.terminated?.finishedAt ?? "");
    const waited = Date.parse(statusOf(back)?.state?.running?.startedAt ?? "") - ended;
    expect(waited).toBeGreaterThanOrEqual(9_000);
  });

  test.concurrent("950-6 failures of a startup probe go on counting", async ({ expect }) => {
    const simulated = await startSimulated([{ container: { exec: () => ({ exitCode: 1 }) } }]);
    const execs: string[] = [];
    const node = await startKubeletNode({ cri: noteExecs(simulated, execs) });
    closing.push(() => node.close().then(() => simulated.close()));
    const startupProbe = { exec: { command: ["check"] }, periodSeconds: 1, failureThreshold: 6 };
    const { metadata } = await node.run("slow", {
      containers: [{ name: "c", image: "web:1", startupProbe }],
    });
    await expect.poll(() => execs.length).toBeGreaterThan(0);
    const [first = ""] = execs;
    const checkpoints = createStartupCheckpoints({ dataDirectory: node.dataDir, logger: silentLogger });
    const failures = () => checkpoints.startupFailures(metadata.uid ?? "", first);
    await expect.poll(() => failures()).toBeGreaterThanOrEqual(2);
    node.kill();
    execs.length = 0;
    await node.start();
    await node.until("slow", (pod) => (restartCounts(pod)[0] ?? 0) > 0, 60_000);
    // Two of the six had failed before, or more.
    expect(execs.filter((id) => id === first).length).toBeLessThanOrEqual(4);
    await expect.poll(() => failures()).toBe(0);
  });

  test.concurrent("probe results survive: a pod that is ready stays ready", async ({ expect }) => {
    const simulated = await startSimulated([]);
    const execs: string[] = [];
    const node = await startKubeletNode({ cri: noteExecs(simulated, execs) });
    closing.push(() => node.close().then(() => simulated.close()));
    const probe = { exec: { command: ["check"] }, periodSeconds: 1 };
    const containers = [{ name: "c", image: "web:1", startupProbe: probe, readinessProbe: probe }];
    await node.run("probed", { containers });
    const before = await node.until("probed", isReady);
    const history = await node.follow("probed");
    for (let restarts = 0; restarts < 3; restarts++) {
      node.kill();
      await node.start();
      execs.length = 0;
      await expect.poll(() => execs.length).toBeGreaterThan(0);
    }
    await history.stop();
    expect(history.versions.filter((pod) => !isReady(pod))).toEqual([]);
    expect(history.versions.filter((pod) => pod.status?.containerStatuses?.[0]?.started !== true)).toEqual(
      [],
    );
    const after = await node.until("probed", isReady);
    expect(conditionOf(after, "Ready")).toEqual(conditionOf(before, "Ready"));
  });
});

/** The ids of containers in which something was executed. */
function noteExecs({ client }: SimulatedRuntime, execs: string[]): CriClient {
  return {
    ...client,
    runtime: {
      ...client.runtime,
      execSync(request, options) {
        execs.push(request.containerId);
        return client.runtime.execSync(request, options);
      },
    },
  };
}

/** Counts how often each container of each pod started. */
function countStarts({ client, state }: SimulatedRuntime, started: Map<string, number>): CriClient {
  return {
    ...client,
    runtime: {
      ...client.runtime,
      async startContainer(request, options) {
        const answer = await client.runtime.startContainer(request, options);
        const container = state.containers.get(request.containerId);
        const key = `${container?.sandbox.metadata.uid}/${container?.metadata.name}`;
        started.set(key, (started.get(key) ?? 0) + 1);
        return answer;
      },
    },
  };
}

async function writeConfig(): Promise<string> {
  const path = join(directory, "kubelet.json");
  const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await writeFile(path, JSON.stringify({ ...kind, address: "127.0.0.1", port: 0 }));
  return path;
}
