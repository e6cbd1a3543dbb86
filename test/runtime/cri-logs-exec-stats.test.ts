import { readdirSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { type ContainerEventResponse, ContainerState, PodSandboxState } from "../../src/cri/generated/cri.ts";
import { describeWithDrivers, sleepy } from "../support/cri/cri-drivers.ts";
import { execIn, podConfig, runContainer, runSandbox, statusOf } from "../support/cri/cri-pod.ts";

describeWithDrivers("CRI: logs, exec, stats and events", ({ client, runtime }) => {
  test("logs: CRI's format, both streams, reopened after a rotation", async () => {
    const logDirectory = join(runtime().directory, "logs");
    const sandbox = await runSandbox(client(), podConfig({ logDirectory }));
    const command = ["sh", "-c", "echo out; echo err >&2; while :; do echo tick; sleep 0.05; done"];
    const containerId = await runContainer(client(), sandbox, { command, logPath: "main/0.log" });
    const path = join(logDirectory, "main/0.log");
    expect((await statusOf(client(), containerId)).logPath).toBe(path);
    await expect.poll(() => readFile(path, "utf8")).toMatch(/^\S+ stdout F out$/m);
    await expect.poll(() => readFile(path, "utf8")).toMatch(/^\S+ stderr F err$/m);
    await rename(path, `${path}.1`);
    await client().runtime.reopenContainerLog({ containerId });
    await expect.poll(() => readFile(path, "utf8").catch(() => "")).toMatch(/stdout F tick/);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("exec-sync: output, exit code, time limit", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    expect(await execIn(client(), containerId, "echo a; echo b >&2; exit 3")).toEqual({
      stdout: "a\n",
      stderr: "b\n",
      exitCode: 3,
    });
    const months = client().runtime.execSync({ containerId, cmd: ["true"], timeout: 10_000_000n });
    expect((await months).exitCode).toBe(0);
    const late = client().runtime.execSync({ containerId, cmd: ["sleep", "30"], timeout: 1n });
    await expect(late).rejects.toMatchObject({ code: codes.DEADLINE_EXCEEDED });
    await expect
      .poll(async () => (await execIn(client(), containerId, "ps")).stdout)
      .not.toContain("sleep 30");
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("stats of containers and pods, and limits changed while it runs", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    const { stats } = await client().runtime.containerStats({ containerId });
    expect(stats?.attributes?.id).toBe(containerId);
    expect(Number(stats?.memory?.workingSetBytes?.value)).toBeGreaterThan(0);
    const { imageFilesystems } = await client().images.imageFsInfo({});
    expect(stats?.writableLayer?.fsId).toEqual(imageFilesystems[0]?.fsId);
    expect(Number(stats?.writableLayer?.usedBytes?.value)).toBeLessThan(500_000);
    const pods = await client().runtime.listPodSandboxStats({ filter: { id: sandbox, labelSelector: {} } });
    expect(pods.stats[0]?.linux?.containers).toHaveLength(1);
    expect(pods.stats[0]?.linux?.network?.defaultInterface?.name).toBe("eth0");
    await client().runtime.updateContainerResources({
      containerId,
      annotations: {},
      linux: {
        cpuPeriod: 100_000n,
        cpuQuota: 50_000n,
        cpuShares: 512n,
        memoryLimitInBytes: 64n * 1_024n * 1_024n,
        oomScoreAdj: 0n,
        cpusetCpus: "",
        cpusetMems: "",
        hugepageLimits: [],
        unified: {},
        memorySwapLimitInBytes: 0n,
      },
    });
    expect((await statusOf(client(), containerId)).resources?.linux?.cpuQuota).toBe(50_000n);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("exec-sync: background processes of a command leak no file descriptors", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    const openFiles = () => readdirSync("/proc/self/fd").length;
    await execIn(client(), containerId, "true");
    const before = openFiles();
    for (let i = 0; i < 4; i++) await execIn(client(), containerId, "sleep 3333 &");
    await expect.poll(openFiles).toBeLessThan(before + 4);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("stats: bytes that a container has written", async () => {
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, {
      command: ["sh", "-c", "dd if=/dev/zero of=/tmp/a bs=1024 count=3000; echo > /tmp/done; sleep 100"],
    });
    await expect.poll(async () => (await execIn(client(), containerId, "cat /tmp/done")).exitCode).toBe(0);
    const { stats } = await client().runtime.containerStats({ containerId });
    const { usedBytes, inodesUsed } = stats?.writableLayer ?? {};
    expect(Number(usedBytes?.value)).toBeGreaterThan(2_900_000);
    expect(Number(usedBytes?.value)).toBeLessThan(3_500_000);
    // Its root, /tmp and the two files; places for mounts beside them.
    expect(Number(inodesUsed?.value)).toBeGreaterThanOrEqual(4);
    expect(Number(inodesUsed?.value)).toBeLessThan(40);
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
  });

  test("events report every change, with the pod's state", async () => {
    const stop = new AbortController();
    const seen: ContainerEventResponse[] = [];
    const reading = (async () => {
      for await (const event of client().runtime.getContainerEvents({}, { signal: stop.signal })) {
        seen.push(event);
      }
    })().catch(() => {});
    // The subscription starts later: it is active once an event of our own pod arrives.
    const receiveAnother = async () => {
      await client().runtime.removePodSandbox({ podSandboxId: await runSandbox(client()) });
      return seen.length;
    };
    await expect.poll(receiveAnother, { interval: 200 }).toBeGreaterThan(0);
    const sandbox = await runSandbox(client());
    const containerId = await runContainer(client(), sandbox, sleepy);
    await client().runtime.stopContainer({ containerId, timeout: 0n });
    await client().runtime.removePodSandbox({ podSandboxId: sandbox });
    const names = ["created", "started", "stopped", "deleted"];
    /** Each as `what sandbox containers`, with the states of sandbox and containers at that time. */
    const toldOf = (id: string) =>
      seen
        .filter((event) => event.containerId === id)
        .map(({ containerEventType, podSandboxStatus, containersStatuses }) =>
          [
            names[containerEventType],
            podSandboxStatus?.state,
            ...containersStatuses.map(({ state }) => state),
          ].join(" "),
        );
    const { SANDBOX_READY: up, SANDBOX_NOTREADY: down } = PodSandboxState;
    const { CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED } = ContainerState;
    await expect
      .poll(() => toldOf(containerId))
      .toEqual([
        `created ${up} ${CONTAINER_CREATED}`,
        `started ${up} ${CONTAINER_RUNNING}`,
        `stopped ${up} ${CONTAINER_EXITED}`,
        `deleted ${down}`,
      ]);
    await expect
      .poll(() => toldOf(sandbox))
      .toEqual([`created ${up}`, `started ${up}`, `stopped ${down} ${CONTAINER_EXITED}`, `deleted ${down}`]);
    stop.abort();
    await reading;
  });
});
