import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/meta/object-facts.ts";
import type { Node, Pod } from "../../src/api/meta/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import type { SandboxRecord } from "../../src/simulated/model/state.ts";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { makePod } from "../support/manifests/pod.ts";
import { ownPort } from "../support/network/own-share.ts";
import { type KubeletNode, startKubeletNode } from "../support/node/kubelet-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/node/simulated-on-socket.ts";
import { createClient, startTestServer, type TestServer } from "../support/servers/api-server.ts";

const condition = "PodReadyToStartContainers";
const containers = [{ name: "c", image: "web:1" }];
const dataDir = temporaryFolder();
const staticPodPath = join(temporaryFolder(), "static");

let simulated: SimulatedRuntime;
let server: TestServer;
let node: KubeletNode;

beforeAll(async () => {
  server = await startTestServer({ dataDir, port: await ownPort(), store: { kind: "lmdb" } });
  simulated = await startSimulatedOnSocket({ imagesPresent: true });
  // Requests to the kubelet while the API server cannot authenticate their callers.
  const open = {
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
  };
  node = await startKubeletNode({
    cri: holdSandboxes(simulated.client),
    server,
    config: { staticPodPath, ...open },
  });
});
afterAll(async () => {
  await node?.close();
  await simulated?.close();
  await server?.close();
});
afterEach(async () => {
  await node.client.deleteCollection("pods", { namespace: "default" });
});

/** Restarts the server with the same address and data. */
async function bringServerBack(): Promise<void> {
  const port = Number(new URL(server.url).port);
  server = await startTestServer({ dataDir, port, store: { kind: "lmdb" } });
}

/** By pod: what the making of its sandbox waits for. */
const held = new Map<string, Promise<void>>();

/** Keeps the pod from its sandbox until what it returns is called. */
function hold(podName: string): () => void {
  let release = () => {};
  held.set(
    podName,
    new Promise((resolve) => {
      release = resolve;
    }),
  );
  return release;
}

function holdSandboxes({ runtime, ...rest }: CriClient): CriClient {
  return {
    ...rest,
    runtime: {
      ...runtime,
      async runPodSandbox(request, options) {
        await held.get(request.config?.metadata?.name ?? "");
        return runtime.runPodSandbox(request, options);
      },
    },
  };
}

/** The kubelet's pods with the status that it has for them, written to the API or not. */
async function connectKubelet() {
  const { status } = await server.json<Node>("GET", `/api/v1/nodes/${node.name}`);
  const url = `https://127.0.0.1:${status?.daemonEndpoints?.kubeletEndpoint?.Port}`;
  const { json, disconnect } = createClient(url, { ca: "", rejectUnauthorized: false });
  const find = async (name: string) =>
    (await json<{ items: Pod[] }>("GET", "/pods")).items.find(({ metadata }) => metadata.name === name);
  return { find, disconnect };
}

const isDone = (pod: Pod | undefined, restarts: number) =>
  pod !== undefined && isReady(pod) && pod.status?.containerStatuses?.[0]?.restartCount === restarts;

const uidOf = (pod: Pod) => pod.metadata.uid ?? "";
const transition = (pod: Pod, type = condition) =>
  Date.parse(conditionOf(pod, type)?.lastTransitionTime ?? "");

/** Newest sandbox of a pod and the newest container in it. */
function truthOf(podUid: string) {
  const newestFirst = [...(simulated.state.byPod.get(podUid) ?? [])].sort(
    (a, b) => b.metadata.attempt - a.metadata.attempt,
  );
  const sandbox: SandboxRecord | undefined = newestFirst[0];
  return { sandbox, container: sandbox?.containers.at(-1) };
}

const runsInSandbox = (podUid: string, attempt: number) => {
  const { sandbox, container } = truthOf(podUid);
  return (
    sandbox?.metadata.attempt === attempt && sandbox.state === "ready" && container?.state.kind === "running"
  );
};

/** The pod's status in the API matches the container and address in the runtime. */
function expectTruth(pod: Pod): void {
  const { sandbox, container } = truthOf(uidOf(pod));
  if (container?.state.kind !== "running") throw new Error(`no container of ${pod.metadata.name} runs`);
  expect(pod.status).toMatchObject({
    phase: "Running",
    podIP: sandbox?.address,
    containerStatuses: [
      {
        containerID: `kindling-simulated://${container.id}`,
        restartCount: container.metadata.attempt,
        ready: true,
        state: { running: { startedAt: formatSecond(container.state.startedAt) } },
      },
    ],
  });
}

const formatSecond = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("3085-8 without the API server", () => {
  test("3085-8 pods start, exit and restart; afterwards the API has the latest status with the original times", async () => {
    const [calm, dying, crashing] = await Promise.all(
      ["calm", "dying", "crashing"].map((name) => node.run(name, { containers })),
    );
    await Promise.all(["calm", "dying", "crashing"].map((name) => node.until(name, isReady)));
    const calmBefore = await node.until("calm", isReady);
    const release = hold("starting");
    const starting = await node.run("starting", { containers });
    await node.until("starting", (pod) => conditionOf(pod, condition)?.status === "False");

    const kubelet = await connectKubelet();
    await server.close();
    const wentAt = Date.now();
    release();
    simulated.killSandbox(uidOf(dying as Pod));
    simulated.exitContainer(uidOf(crashing as Pod), "c", 3);
    await expect.poll(() => runsInSandbox(uidOf(starting), 0)).toBe(true);
    await expect.poll(() => runsInSandbox(uidOf(dying as Pod), 1)).toBe(true);
    await expect
      .poll(() => truthOf(uidOf(crashing as Pod)).container)
      .toMatchObject({ metadata: { attempt: 1 }, state: { kind: "running" } });
    await expect.poll(async () => isDone(await kubelet.find("starting"), 0)).toBe(true);
    await expect.poll(async () => isDone(await kubelet.find("dying"), 1)).toBe(true);
    kubelet.disconnect();
    const settledAt = Date.now();
    // Times in the API have whole seconds: a late write must be distinguishable from an event of that time.
    await pause(1_500);
    await bringServerBack();

    const after = {
      calm: await node.until("calm", isReady),
      starting: await node.until("starting", isReady),
      dying: await node.until("dying", (pod) => isDone(pod, 1)),
      crashing: await node.until("crashing", (pod) => isDone(pod, 1)),
    };
    for (const pod of Object.values(after)) expectTruth(pod);
    for (const pod of [after.starting, after.dying]) {
      expect(transition(pod)).toBeGreaterThanOrEqual(wentAt - 1_000);
      expect(transition(pod)).toBeLessThanOrEqual(settledAt);
      expect(transition(pod, "Ready")).toBeLessThanOrEqual(settledAt);
    }
    expect(after.calm.status).toEqual(calmBefore.status);
    expect(transition(after.crashing)).toBeLessThan(wentAt);
    expect(after.crashing.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode).toBe(3);
    expect(uidOf(after.calm)).toBe(uidOf(calm as Pod));
  });

  test("3085-8 a restarted kubelet changes nothing, and the conditions come from the runtime", async () => {
    const [calm, dying] = await Promise.all(
      ["calm-2", "dying-2"].map((name) => node.run(name, { containers })),
    );
    const before = {
      calm: await node.until("calm-2", isReady),
      dying: await node.until("dying-2", isReady),
    };
    const release = hold("starting-2");
    const starting = await node.run("starting-2", { containers });
    await node.until("starting-2", (pod) => conditionOf(pod, condition)?.status === "False");

    await server.close();
    // The sandbox is created in a later second than the condition was written.
    await pause(1_100);
    release();
    await expect.poll(() => runsInSandbox(uidOf(starting), 0)).toBe(true);
    node.kill();
    simulated.killSandbox(uidOf(dying as Pod));
    await node.start({ untilReady: false });
    await pause(1_500);
    // It does not know its pods: running containers continue, and nothing is started.
    expect(runsInSandbox(uidOf(calm as Pod), 0)).toBe(true);
    expect(runsInSandbox(uidOf(starting), 0)).toBe(true);
    expect(truthOf(uidOf(dying as Pod)).sandbox).toMatchObject({
      state: "notReady",
      metadata: { attempt: 0 },
    });
    const cameBackAt = Date.now();
    await bringServerBack();

    const after = {
      calm: await node.until("calm-2", isReady),
      starting: await node.until("starting-2", isReady),
      dying: await node.until("dying-2", (pod) => isDone(pod, 1)),
    };
    for (const pod of Object.values(after)) expectTruth(pod);
    expect(after.calm.status?.conditions).toEqual(before.calm.status?.conditions);
    expect(transition(after.dying)).toBeGreaterThanOrEqual(cameBackAt - 1_000);
    expect(after.starting.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    const { sandbox } = truthOf(uidOf(starting));
    expect(conditionOf(after.starting, condition)?.lastTransitionTime).toBe(
      formatSecond(sandbox?.createdAt ?? 0),
    );
  });

  test("3815-9 the kubelet is restarted meanwhile: FailingToStart is unchanged when the server is back", async () => {
    await node.run("stuck", { containers: [{ name: "c", image: "NOT AN IMAGE" }] });
    const before = await node.until("stuck", (pod) => conditionOf(pod, "FailingToStart")?.status === "True");
    node.kill();
    await server.close();
    await node.start({ untilReady: false });
    // What is written from now on has another time.
    await pause(1_100);
    await bringServerBack();
    const failed = () =>
      node.events("stuck").then((events) => events.map(({ lastTimestamp }) => lastTimestamp));
    const saidBefore = new Set(await failed());
    await expect.poll(async () => (await failed()).some((time) => !saidBefore.has(time))).toBe(true);
    const after = await node.until("stuck", () => true);
    expect(conditionOf(after, "FailingToStart")).toEqual(conditionOf(before, "FailingToStart"));
  });

  test("3085-8 a pod that was deleted before is stopped, and removed when the server is back", async () => {
    const rule = simulated.rules.add({ match: { pod: "leaving" }, container: { stopDelayMs: 1_500 } });
    const leaving = await node.run("leaving", { containers, terminationGracePeriodSeconds: 10 });
    await node.until("leaving", isReady);
    await node.client.delete("pods", { namespace: "default", name: "leaving" });
    await node.untilEvent("leaving", /^Stopping container c$/);
    await server.close();
    await expect.poll(() => truthOf(uidOf(leaving)).sandbox?.state).not.toBe("ready");
    await bringServerBack();
    await node.untilGone("leaving");
    await expect.poll(() => simulated.state.byPod.has(uidOf(leaving))).toBe(false);
    simulated.rules.remove(rule);
  });

  test("a static pod starts before the API server and is visible when the server starts", async () => {
    await node.stop();
    await server.close();
    const file = makePod("first", { containers });
    await mkdir(staticPodPath);
    await writeFile(join(staticPodPath, "first.json"), JSON.stringify(file));
    await node.start({ untilReady: false });
    const isOfFirst = ({ metadata }: SandboxRecord) => metadata.name === "first-node-1";
    const running = () =>
      [...simulated.state.byPod.values()]
        .flatMap((sandboxes) => [...sandboxes])
        .filter(isOfFirst)
        .flatMap((sandbox) => sandbox.containers.map(({ state }) => state.kind));
    await expect.poll(running).toEqual(["running"]);
    await bringServerBack();
    await node.until("first-node-1", isReady);
    await rm(staticPodPath, { recursive: true });
    await node.untilGone("first-node-1");
  });
});
