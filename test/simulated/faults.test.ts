import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { type CriClient, connectCri } from "../../src/cri/cri-client.ts";
import { ContainerEventType, ContainerState, PodSandboxState } from "../../src/cri/generated/cri.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { containerConfig, podConfig, runContainer, runSandbox, statusOf } from "../support/cri/cri-pod.ts";
import { scripted, startNode } from "./node.ts";

async function runPod(client: CriClient, config = podConfig()) {
  const podSandboxId = await runSandbox(client, config);
  const containerId = await runContainer(client, podSandboxId);
  return { podSandboxId, containerId, uid: config.metadata?.uid ?? "" };
}

const sandboxState = async (client: CriClient, podSandboxId: string) =>
  (await client.runtime.podSandboxStatus({ podSandboxId, verbose: false })).status?.state;

test("a killed sandbox is not ready, its containers exit with 137, and events report both", async () => {
  const { client, simulated } = await startNode();
  const { podSandboxId, containerId, uid } = await runPod(client);
  const events = client.runtime.getContainerEvents({})[Symbol.asyncIterator]();
  simulated.killSandbox(uid);
  const stopped = { containerEventType: ContainerEventType.CONTAINER_STOPPED_EVENT };
  expect((await events.next()).value).toMatchObject({ containerId, ...stopped });
  expect((await events.next()).value).toMatchObject({ containerId: podSandboxId, ...stopped });
  expect(await sandboxState(client, podSandboxId)).toBe(PodSandboxState.SANDBOX_NOTREADY);
  expect(await statusOf(client, containerId)).toMatchObject({ exitCode: 137 });
  expect(() => simulated.killSandbox(uid)).toThrow(`pod ${uid} has no ready sandbox`);
});

test("a container exits on demand", async () => {
  const { client, simulated } = await startNode();
  const { containerId, uid } = await runPod(client);
  simulated.exitContainer(uid, "main", 42);
  expect(await statusOf(client, containerId)).toMatchObject({ exitCode: 42, reason: "Error" });
  expect(() => simulated.exitContainer(uid, "main", 42)).toThrow(/no running container main/);
});

test("a reboot: no sandbox is ready, no container has exited normally, and clients are disconnected", async () => {
  const { client, clock, simulated } = await startNode();
  const { podSandboxId, containerId } = await runPod(client, scripted({ exit: "code=1 after=1h" }));
  const created = await client.runtime.createContainer({
    podSandboxId,
    config: containerConfig({ metadata: { name: "other" } }),
    sandboxConfig: undefined,
  });
  const events = client.runtime.getContainerEvents({})[Symbol.asyncIterator]();
  const cut = expect(events.next()).rejects.toMatchObject({ code: codes.UNAVAILABLE });
  const call = expect(runSandbox(client, scripted({ "sandbox-delay": "1m" }))).rejects.toMatchObject({
    code: codes.UNAVAILABLE,
  });
  simulated.reboot();
  await Promise.all([cut, call]);
  expect(await sandboxState(client, podSandboxId)).toBe(PodSandboxState.SANDBOX_NOTREADY);
  expect(await statusOf(client, containerId)).toMatchObject({ exitCode: 255, reason: "Unknown" });
  expect((await statusOf(client, created.containerId)).state).toBe(ContainerState.CONTAINER_CREATED);
  await clock.advance(0);
  expect(clock.sleeping()).toBe(0);
  await runSandbox(client);
});

test("during an outage no call is served, pods keep running, and afterwards the state is unchanged", async () => {
  const folder = await mkdtemp(join(tmpdir(), "kindling-simulated-"));
  const listen = `unix://${join(folder, "cri.sock")}`;
  const { client, clock, simulated } = await startNode({ listen });
  const { containerId } = await runPod(client, scripted({ exit: "code=3 after=10s" }));
  const remote = connectCri(listen);
  expect((await statusOf(remote, containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
  const second = startSimulatedRuntime({ listen, logger: silentLogger });
  await expect(second).rejects.toThrow(/is in use: another runtime is listening on it/);

  await simulated.outage();
  const unavailable = { code: codes.UNAVAILABLE };
  await expect(statusOf(client, containerId)).rejects.toMatchObject(unavailable);
  await expect(statusOf(remote, containerId)).rejects.toMatchObject(unavailable);
  const events = client.runtime.getContainerEvents({})[Symbol.asyncIterator]();
  await expect(events.next()).rejects.toMatchObject(unavailable);
  await clock.advance(10_000);
  await simulated.restore();
  await expect
    .poll(() => statusOf(remote, containerId).catch(() => undefined))
    .toMatchObject({ exitCode: 3 });
  expect(await statusOf(client, containerId)).toMatchObject({ exitCode: 3 });
  remote.close();
  await simulated.close();
  await rm(folder, { recursive: true });
});

test("the next daemon restores pods, images and planned exits, including overdue ones", async () => {
  const first = await startNode();
  const { clock } = first;
  const soon = await runPod(first.client, scripted({ exit: "code=1 after=5s" }));
  const late = await runPod(first.client, scripted({ exit: "code=2 after=60s" }));
  const soonEnds = BigInt(clock.now() + 5_000) * 1_000_000n;
  await first.simulated.close();
  await expect(statusOf(first.client, soon.containerId)).rejects.toMatchObject({ code: codes.UNAVAILABLE });
  expect(clock.sleeping()).toBe(0);
  await clock.advance(10_000);

  const { state } = first.simulated;
  const { client } = await startNode({ clock, state });
  expect(await statusOf(client, soon.containerId)).toMatchObject({ exitCode: 1, finishedAt: soonEnds });
  expect((await statusOf(client, late.containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
  await clock.advance(50_000);
  expect(await statusOf(client, late.containerId)).toMatchObject({ exitCode: 2 });

  const fresh = await startNode();
  await expect(statusOf(fresh.client, soon.containerId)).rejects.toMatchObject({ code: codes.NOT_FOUND });
});
