import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { ContainerState, PodSandboxState } from "../../src/cri/generated/cri.ts";
import { describeWithDrivers } from "../support/cri/cri-drivers.ts";
import {
  containerConfig,
  execIn,
  podConfig,
  runContainer,
  runSandbox,
  statusOf,
  untilExited,
} from "../support/cri/cri-pod.ts";
import { busyboxImage } from "../support/cri/cri-runtime.ts";

/** Creates a file when it handles its stop signal: the first process of a pod misses earlier signals. */
const listening = {
  command: ["sh", "-c", "trap 'exit 7' TERM; echo > /ready; while :; do sleep 0.05; done"],
};

describeWithDrivers("CRI: the life of sandboxes and containers", ({ driver, client, runtime }) => {
  const untilReady = (containerId: string) =>
    expect.poll(async () => (await execIn(client(), containerId, "test -e /ready")).exitCode).toBe(0);

  test("runtime info: version, conditions, handlers, verbose reasons", async () => {
    const version = await client().runtime.version({ version: "0.1.0" });
    expect(version).toMatchObject({ runtimeName: "kindling", runtimeApiVersion: "v1" });
    const { status, info, runtimeHandlers } = await client().runtime.status({ verbose: true });
    expect(status?.conditions.map(({ type, status: ok }) => [type, ok])).toEqual([
      ["RuntimeReady", true],
      ["NetworkReady", true],
    ]);
    expect(JSON.parse(info.driver ?? "")).toMatchObject({ name: driver });
    expect(runtimeHandlers.map(({ name }) => name)).toContain("");
  });

  test("unsupported calls return UNIMPLEMENTED", async () => {
    const call = client().runtime.listMetricDescriptors({});
    await expect(call).rejects.toMatchObject({ code: codes.UNIMPLEMENTED });
  });

  test("sandbox: run, status, list with filters, stop and remove are idempotent", async () => {
    const config = podConfig({ labels: { app: "web", tier: "front" } });
    const id = await runSandbox(client(), config);
    const { status } = await client().runtime.podSandboxStatus({ podSandboxId: id, verbose: true });
    expect(status).toMatchObject({ state: PodSandboxState.SANDBOX_READY, metadata: config.metadata });
    expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);

    const list = async (filter: {
      id?: string;
      state?: PodSandboxState;
      labels?: Record<string, string>;
    }) => {
      const { items } = await client().runtime.listPodSandbox({
        filter: {
          id: filter.id ?? "",
          state: filter.state === undefined ? undefined : { state: filter.state },
          labelSelector: filter.labels ?? {},
        },
      });
      return items.filter((item) => item.id === id).length;
    };
    expect(await list({ id: id.slice(0, 12) })).toBe(1);
    expect(await list({ labels: { app: "web" } })).toBe(1);
    expect(await list({ labels: { app: "db" } })).toBe(0);
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).toBe(0);

    for (let i = 0; i < 2; i++) await client().runtime.stopPodSandbox({ podSandboxId: id });
    expect(await list({ state: PodSandboxState.SANDBOX_NOTREADY })).toBe(1);
    for (let i = 0; i < 2; i++) await client().runtime.removePodSandbox({ podSandboxId: id });
    await client().runtime.stopPodSandbox({ podSandboxId: id });
    await expect(
      client().runtime.podSandboxStatus({ podSandboxId: id, verbose: false }),
    ).rejects.toMatchObject({ code: codes.NOT_FOUND });
  });

  test("of two sandboxes with one name and attempt, made at the same time, one is", async () => {
    const config = podConfig();
    const made = await Promise.allSettled([runSandbox(client(), config), runSandbox(client(), config)]);
    expect(made.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = made.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: codes.ALREADY_EXISTS });
  });

  test("container: create, start, status, list, stop with the stop signal, remove", async () => {
    const sandbox = await runSandbox(client());
    const config = containerConfig({ ...listening, labels: { role: "x" }, annotations: { note: "y" } });
    const create = () =>
      client().runtime.createContainer({ podSandboxId: sandbox, config, sandboxConfig: podConfig() });
    const { containerId } = await create();
    await expect(create()).rejects.toMatchObject({ code: codes.ALREADY_EXISTS });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_CREATED,
      labels: { role: "x" },
      annotations: { note: "y" },
      image: { image: busyboxImage },
    });
    await client().runtime.startContainer({ containerId });
    const started = await statusOf(client(), containerId.slice(0, 13));
    expect(started.state).toBe(ContainerState.CONTAINER_RUNNING);
    expect(started.startedAt).toBeGreaterThanOrEqual(started.createdAt);
    await expect(client().runtime.startContainer({ containerId })).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    const { containers } = await client().runtime.listContainers({
      filter: {
        id: "",
        podSandboxId: sandbox,
        state: { state: ContainerState.CONTAINER_RUNNING },
        labelSelector: { role: "x" },
      },
    });
    expect(containers.map(({ id }) => id)).toEqual([containerId]);

    await untilReady(containerId);
    for (let i = 0; i < 2; i++) await client().runtime.stopContainer({ containerId, timeout: 10n });
    expect(await statusOf(client(), containerId)).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 7,
      reason: "Error",
    });
    for (let i = 0; i < 2; i++) await client().runtime.removeContainer({ containerId });
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("a container that ignores its stop signal is killed when the time is over", async () => {
    const sandbox = await runSandbox(client());
    const command = ["sh", "-c", "trap '' TERM; echo > /ready; while :; do sleep 0.05; done"];
    const containerId = await runContainer(client(), sandbox, { command });
    await untilReady(containerId);
    await client().runtime.stopContainer({ containerId, timeout: 1n });
    expect((await statusOf(client(), containerId)).exitCode).toBe(137);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("a container that cannot start reports the reason and leaves nothing behind", async () => {
    const sandbox = await runSandbox(client());
    await expect(runContainer(client(), sandbox, { command: ["/no/such/program"] })).rejects.toThrow(
      /no such file|not found/i,
    );
    await expect(
      runContainer(client(), sandbox, {
        metadata: { name: "x", attempt: 0 },
        image: { image: "missing:1" },
      }),
    ).rejects.toMatchObject({ code: codes.NOT_FOUND });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    expect(await readdir(join(runtime().dataDir, "containers"))).toEqual([]);
    expect(await readdir(join(runtime().dataDir, "images/rootfs"))).toEqual([]);
  });

  test("a restart of the daemon: containers go on, exit codes are kept", async () => {
    const sandbox = await runSandbox(client());
    const running = await runContainer(client(), sandbox, listening);
    const ending = await runContainer(client(), sandbox, {
      metadata: { name: "ending", attempt: 0 },
      command: ["sh", "-c", "sleep 0.3; exit 9"],
    });
    await runtime().restart();
    expect((await statusOf(client(), running)).state).toBe(ContainerState.CONTAINER_RUNNING);
    expect((await untilExited(client(), ending)).exitCode).toBe(9);
    expect((await execIn(client(), running, "echo still here")).stdout).toBe("still here\n");
    await untilReady(running);
    await client().runtime.stopContainer({ containerId: running, timeout: 5n });
    expect((await statusOf(client(), running)).exitCode).toBe(7);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });
});
