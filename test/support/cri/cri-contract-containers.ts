import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import {
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  PodSandboxState,
  UpdateContainerResourcesRequest,
} from "../../../src/cri/generated/cri.ts";
import {
  type Client,
  deaf,
  failing,
  polite,
  remove,
  runPod,
  succeeding,
  untilReady,
} from "./cri-contract-pod.ts";
import { containerConfig, execIn, podConfig, runSandbox, statusOf, untilExited } from "./cri-pod.ts";
import { busyboxImage } from "./cri-runtime.ts";

export function containerSuite(client: Client): void {
  test("create, start, status, list by filter, stop, remove", async () => {
    const sandboxConfig = podConfig();
    const podSandboxId = await runSandbox(client(), sandboxConfig);
    const labels = { role: "x" };
    const config = containerConfig({ ...polite.container, labels, annotations: { note: "y" } });
    const create = () => client().runtime.createContainer({ podSandboxId, config, sandboxConfig });
    const { containerId } = await create();
    await expect(create()).rejects.toMatchObject({ code: codes.ALREADY_EXISTS });
    const created = await statusOf(client(), containerId);
    expect(created).toMatchObject({
      id: containerId,
      metadata: config.metadata,
      state: ContainerState.CONTAINER_CREATED,
      labels,
      annotations: { note: "y" },
      image: { image: busyboxImage },
    });
    expect(created.imageRef).not.toBe("");
    expect(created.imageId).toMatch(/^sha256:/);

    await client().runtime.startContainer({ containerId });
    const started = await statusOf(client(), containerId.slice(0, 20));
    expect(started.state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(started.startedAt).toBeGreaterThanOrEqual(started.createdAt);
    const again = client().runtime.startContainer({ containerId });
    await expect(again).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });

    const list = async (state: ContainerState, labelSelector: Record<string, string>) => {
      const filter = { id: "", podSandboxId, state: { state }, labelSelector };
      const { containers } = await client().runtime.listContainers({ filter });
      return containers.map(({ id }) => id);
    };
    expect(await list(ContainerState.CONTAINER_RUNNING, labels)).toEqual([containerId]);
    expect(await list(ContainerState.CONTAINER_EXITED, labels)).toEqual([]);
    expect(await list(ContainerState.CONTAINER_RUNNING, { role: "y" })).toEqual([]);

    await untilReady(client(), containerId);
    for (let i = 0; i < 2; i++) await client().runtime.stopContainer({ containerId, timeout: 10n });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 143,
      reason: "Error",
    });
    for (let i = 0; i < 2; i++) await client().runtime.removeContainer({ containerId });
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    await expect(statusOf(client(), containerId)).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await remove(client(), podSandboxId);
  });

  test.each([
    ["failing", failing, 3, "Error"],
    ["succeeding", succeeding, 0, "Completed"],
  ])("a container that exits: %s", async (_name, ending, exitCode, reason) => {
    const { sandbox, containerId } = await runPod(client(), ending);
    const status = await untilExited(client(), containerId);
    expect(status).toMatchObject({ exitCode, reason });
    expect(status.finishedAt).toBeGreaterThanOrEqual(status.startedAt);
    expect(status.startedAt).toBeGreaterThanOrEqual(status.createdAt);
    const again = client().runtime.startContainer({ containerId });
    await expect(again).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });
    const exec = client().runtime.execSync({ containerId, cmd: ["true"], timeout: 5n });
    await expect(exec).rejects.toMatchObject({ code: codes.FAILED_PRECONDITION });
    await remove(client(), sandbox);
  });

  test("a stop with grace for one that does not listen: killed when it is over, or by a stop without", async () => {
    const { sandbox, containerId } = await runPod(client(), deaf);
    await untilReady(client(), containerId);
    const began = Date.now();
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    expect(Date.now() - began).toBeGreaterThanOrEqual(950);
    expect((await statusOf(client(), containerId)).exitCode).toBe(137);
    await remove(client(), sandbox);

    const other = await runPod(client(), deaf);
    await untilReady(client(), other.containerId);
    const patient = client().runtime.stopContainer({ containerId: other.containerId, timeout: 600n });
    await client().runtime.stopContainer({ containerId: other.containerId, timeout: 0n });
    await patient;
    expect((await statusOf(client(), other.containerId)).exitCode).toBe(137);
    await remove(client(), other.sandbox);
  });

  test("what is missing is named, and where nothing can be made nothing is", async () => {
    const sandboxConfig = podConfig();
    const podSandboxId = await runSandbox(client(), sandboxConfig);
    const create = (id: string, image: string) =>
      client().runtime.createContainer({
        podSandboxId: id,
        config: containerConfig({ image: { image } }),
        sandboxConfig,
      });
    await expect(create(podSandboxId, "test.local/no-such:1")).rejects.toMatchObject({
      code: codes.NOT_FOUND,
      details: expect.stringContaining("test.local/no-such:1"),
    });
    await expect(create("0".repeat(64), busyboxImage)).rejects.toMatchObject({ code: codes.NOT_FOUND });
    const { containerId } = await create(podSandboxId, busyboxImage);
    await client().runtime.stopPodSandbox({ podSandboxId });
    await expect(create(podSandboxId, busyboxImage)).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    await expect(client().runtime.startContainer({ containerId })).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    const missing = client().runtime.startContainer({ containerId: "0".repeat(64) });
    await expect(missing).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await remove(client(), podSandboxId);
  });

  test("exec, statistics and changed limits of one that runs", async () => {
    const { sandbox, containerId } = await runPod(client(), polite);
    expect((await execIn(client(), containerId, "true")).exitCode).toBe(0);
    const { stats } = await client().runtime.containerStats({ containerId });
    expect(stats?.attributes?.id).toBe(containerId);
    expect(stats?.memory?.workingSetBytes?.value).toBeGreaterThan(0n);
    const pod = await client().runtime.podSandboxStats({ podSandboxId: sandbox });
    expect(pod.stats?.linux?.containers.map(({ attributes }) => attributes?.id)).toEqual([containerId]);

    const update = { containerId, linux: { cpuShares: 512n } };
    await client().runtime.updateContainerResources(UpdateContainerResourcesRequest.fromPartial(update));
    expect((await statusOf(client(), containerId)).resources?.linux?.cpuShares).toBe(512n);
    await remove(client(), sandbox);
  });
}

export function eventSuite(client: Client): void {
  test("each step of a pod in order, with the state of the pod after it", async () => {
    const ending = new AbortController();
    const events = client().runtime.getContainerEvents({}, { signal: ending.signal });
    const seen: ContainerEventResponse[] = [];
    const reading = (async () => {
      for await (const event of events) seen.push(event);
    })();
    // Over a socket the subscription starts later: it is active once an event of our own pod arrives.
    await expect
      .poll(
        async () => {
          await remove(client(), await runSandbox(client()));
          return seen.length;
        },
        { interval: 200 },
      )
      .toBeGreaterThan(0);

    const { sandbox, containerId } = await runPod(client(), failing);
    await untilExited(client(), containerId);
    await client().runtime.removeContainer({ containerId });
    await client().runtime.stopPodSandbox({ podSandboxId: sandbox });
    await remove(client(), sandbox);
    const { CONTAINER_CREATED_EVENT: created, CONTAINER_STARTED_EVENT: started } = ContainerEventType;
    const { CONTAINER_STOPPED_EVENT: stopped, CONTAINER_DELETED_EVENT: deleted } = ContainerEventType;
    const of = (id: string) => seen.filter((event) => event.containerId === id);
    const types = (id: string) => of(id).map(({ containerEventType }) => containerEventType);
    const all = [created, started, stopped, deleted];
    await expect.poll(() => [types(sandbox), types(containerId)]).toEqual([all, all]);

    const stop = of(containerId)[2];
    expect(stop?.podSandboxStatus).toMatchObject({ id: sandbox, state: PodSandboxState.SANDBOX_READY });
    expect(stop?.containersStatuses).toMatchObject([
      { id: containerId, state: ContainerState.CONTAINER_EXITED, exitCode: 3 },
    ]);
    const mine = seen.filter(({ podSandboxStatus }) => podSandboxStatus?.id === sandbox);
    const times = mine.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort((a, b) => Number(a - b)));
    ending.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
}
