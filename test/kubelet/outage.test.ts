import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { conditionOf } from "../../src/api/conditions.ts";
import type { Node, Pod } from "../../src/api/objects.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import type { SandboxRecord } from "../../src/simulated/records.ts";
import type { SimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { createClient, startTestServer, type TestServer } from "../support/api-server.ts";
import { type KubeletNode, startKubeletNode } from "../support/kubelet-node.ts";
import { ownPort } from "../support/own-share.ts";
import { isReady } from "../support/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/simulated-on-socket.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

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
  // The kubelet is asked what it knows while nobody can say who asks.
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

/** The server comes back where it was, with all that it had. */
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

/** The kubelet's pods with the status that it has for them, whether or not it can tell anybody. */
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

/** What the runtime has of a pod: its newest sandbox and the newest container in it. */
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

/** The pod in the API says of its container and its address what the runtime says. */
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

describe("3085-8 the API server is away", () => {
  test("3085-8 pods start, die and restart all the same; then the API has the latest, with the times when it happened", async () => {
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
    // Times in the API have whole seconds: what is written late must be told from what happened then.
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

  test("3085-8 the kubelet is restarted meanwhile: nothing is touched, and the conditions come from the runtime", async () => {
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
    release();
    await expect.poll(() => runsInSandbox(uidOf(starting), 0)).toBe(true);
    node.kill();
    simulated.killSandbox(uidOf(dying as Pod));
    await node.start({ untilReady: false });
    await pause(1_500);
    // It cannot know what it should run: what runs goes on, and nothing is begun.
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
  });

  test("3085-8 a pod that was deleted before is stopped meanwhile, and goes when the server is back", async () => {
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

  test("a pod from a file starts before the API server does, and shows when it is there", async () => {
    await node.stop();
    await server.close();
    const spec = { containers, terminationGracePeriodSeconds: 1 };
    const file = { apiVersion: "v1", kind: "Pod", metadata: { name: "first" }, spec };
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
