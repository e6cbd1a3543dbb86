import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as codes } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { ContainerState, NamespaceMode, RunPodSandboxRequest } from "../../src/cri/generated/cri.ts";
import {
  containerConfig,
  execIn,
  podConfig,
  runContainer,
  runSandbox,
  statusOf,
} from "../support/cri/cri-pod.ts";
import { failsAfter, scripted, settled, startNode, type TestNode } from "./node.ts";

const sandboxIds = async ({ client }: TestNode) =>
  (await client.runtime.listPodSandbox({ filter: undefined })).items.map(({ id }) => id);
const stateOf = async ({ client }: TestNode, containerId: string) =>
  (await statusOf(client, containerId)).state;
/** Sets the node's pod CIDR as a kubelet does. */
const announce = (client: CriClient, podCidr: string) =>
  client.runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } });

describe("sandboxes", () => {
  test("are delayed; one whose caller times out is not created", async () => {
    const node = await startNode({ script: [{ match: { pod: "pod-*" }, sandbox: { delayMs: 2_000 } }] });
    const running = runSandbox(node.client);
    await node.clock.advance(1_999);
    expect(await settled(running)).toBe(false);
    expect(await sandboxIds(node)).toEqual([]);
    await node.clock.advance(1);
    expect(await sandboxIds(node)).toEqual([await running]);

    const leaving = new AbortController();
    const config = podConfig();
    const request = RunPodSandboxRequest.fromPartial({ config });
    const given = node.client.runtime.runPodSandbox(request, { signal: leaving.signal });
    leaving.abort(new Error("enough"));
    await expect(given).rejects.toThrow("enough");
    // Its name is free again.
    const again = runSandbox(node.client, config);
    await node.clock.advance(2_000);
    await again;
  });

  test("one that never finishes ends with the caller's deadline, by default two minutes", async () => {
    const { client, clock } = await startNode();
    const call = runSandbox(client, scripted({ "sandbox-delay": "forever" }));
    await failsAfter(clock, { ms: 120_000, call, error: { code: codes.DEADLINE_EXCEEDED } });
    expect(clock.sleeping()).toBe(0);
  });

  test("their network fails like the real one until the rule is removed", async () => {
    const { client, simulated } = await startNode();
    const fault = simulated.rules.add({
      match: { namespace: "default" },
      sandbox: { networkError: "no route" },
    });
    await expect(runSandbox(client)).rejects.toMatchObject({
      code: codes.UNKNOWN,
      details: expect.stringMatching(/^failed to setup network for sandbox "[0-9a-f]{64}": no route$/),
    });
    simulated.rules.remove(fault);
    await runSandbox(client);
  });

  test("a number of failures, from YAML", async () => {
    const { client } = await startNode();
    const config = scripted({ "sandbox-error": "no route", "sandbox-error-times": "2" });
    for (let i = 0; i < 2; i++) await expect(runSandbox(client, config)).rejects.toThrow("no route");
    await runSandbox(client, config);
  });

  test("a handler that is not configured, until it is", async () => {
    const { client, simulated } = await startNode();
    const request = RunPodSandboxRequest.fromPartial({ config: podConfig(), runtimeHandler: "gvisor" });
    await expect(client.runtime.runPodSandbox(request)).rejects.toMatchObject({
      code: codes.UNKNOWN,
      details: expect.stringContaining('no runtime for "gvisor" is configured'),
    });
    simulated.handlers.add("gvisor");
    await client.runtime.runPodSandbox(request);
    const { runtimeHandlers } = await client.runtime.status({ verbose: false });
    expect(runtimeHandlers.map(({ name }) => name)).toContain("gvisor");
  });

  test("an invalid annotation fails with the correct syntax", async () => {
    const { client } = await startNode();
    await expect(runSandbox(client, scripted({ exit: "soon" }))).rejects.toMatchObject({
      code: codes.INVALID_ARGUMENT,
      details: 'annotation simulated.kindling.dev/exit: "soon": write it like "code=1 after=2s times=3"',
    });
  });

  test("addresses are released when the network is torn down, also at the second attempt", async () => {
    const { client, simulated } = await startNode();
    await announce(client, "10.9.0.0/29");
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push(await runSandbox(client));
    await expect(runSandbox(client)).rejects.toThrow(/all addresses for pods are in use/);
    const options = { namespaceOptions: { network: NamespaceMode.NODE } };
    const host = await runSandbox(client, podConfig({ linux: { securityContext: options } }));
    const { status } = await client.runtime.podSandboxStatus({ podSandboxId: host, verbose: false });
    expect(status?.network?.ip).toBe("");

    const fault = simulated.rules.add({ sandbox: { stopError: "the plugin is gone" } });
    const podSandboxId = ids[0] ?? "";
    await expect(client.runtime.stopPodSandbox({ podSandboxId })).rejects.toThrow(
      /failed to destroy network for sandbox "[0-9a-f]+": the plugin is gone/,
    );
    expect(simulated.state.addresses.taken()).toBe(5);
    simulated.rules.remove(fault);
    await client.runtime.stopPodSandbox({ podSandboxId });
    await runSandbox(client);
  });

  test("uses the pod CIDR of the kubelet", async () => {
    const { client } = await startNode();
    await announce(client, "10.244.7.0/24,fd00::/64");
    const podSandboxId = await runSandbox(client);
    const { status } = await client.runtime.podSandboxStatus({ podSandboxId, verbose: false });
    expect(status?.network?.ip).toBe("10.244.7.2");
    await expect(announce(client, "10.244.7.0")).rejects.toMatchObject({ code: codes.INVALID_ARGUMENT });
  });
});

describe("containers", () => {
  test("exit a number of times after a delay, then keep running", async () => {
    const node = await startNode();
    const sandbox = await runSandbox(node.client, scripted({ exit: "code=1 after=2s times=2" }));
    for (const attempt of [0, 1, 2]) {
      const id = await runContainer(node.client, sandbox, { metadata: { name: "main", attempt } });
      const startedAt = node.clock.now();
      await node.clock.advance(1_999);
      expect(await stateOf(node, id)).toBe(ContainerState.CONTAINER_RUNNING);
      await node.clock.advance(1);
      const status = await statusOf(node.client, id);
      if (attempt === 2) expect(status.state).toBe(ContainerState.CONTAINER_RUNNING);
      else expect(status).toMatchObject({ exitCode: 1, finishedAt: BigInt(startedAt + 2_000) * 1_000_000n });
    }
  });

  test("start with a delay, during which a second start is rejected", async () => {
    const { client, clock } = await startNode();
    const sandboxConfig = scripted({ "start-delay.main": "1s" });
    const podSandboxId = await runSandbox(client, sandboxConfig);
    const request = { podSandboxId, config: containerConfig(), sandboxConfig };
    const { containerId } = await client.runtime.createContainer(request);
    const starting = client.runtime.startContainer({ containerId });
    await expect(client.runtime.startContainer({ containerId })).rejects.toMatchObject({
      code: codes.FAILED_PRECONDITION,
    });
    await client.runtime.removePodSandbox({ podSandboxId });
    await failsAfter(clock, { ms: 1_000, call: starting, error: { code: codes.NOT_FOUND } });
  });

  test("cannot be started: exited with 128, StartError", async () => {
    const { client } = await startNode();
    const podSandboxId = await runSandbox(client, scripted({ "start-error": "exec: no such file" }));
    await expect(runContainer(client, podSandboxId)).rejects.toThrow("exec: no such file");
    const { containers } = await client.runtime.listContainers({ filter: undefined });
    expect(await statusOf(client, containers[0]?.id ?? "")).toMatchObject({
      state: ContainerState.CONTAINER_EXITED,
      exitCode: 128,
      reason: "StartError",
      message: "exec: no such file",
      startedAt: 0n,
    });
  });

  test("cannot be created, until they can", async () => {
    const { client, simulated } = await startNode();
    const podSandboxId = await runSandbox(client);
    const fault = simulated.rules.add({
      match: { container: "main" },
      container: { createError: "no disk" },
    });
    await expect(runContainer(client, podSandboxId)).rejects.toThrow("no disk");
    simulated.rules.remove(fault);
    await runContainer(client, podSandboxId);
  });

  test("stop after their delay, at most after the grace period", async () => {
    const { client, clock } = await startNode();
    const podSandboxId = await runSandbox(client, scripted({ "stop-delay": "5s" }));
    const containerId = await runContainer(client, podSandboxId);
    const stopping = client.runtime.stopContainer({ containerId, timeout: 30n });
    await clock.advance(4_999);
    expect(await settled(stopping)).toBe(false);
    await clock.advance(1);
    await stopping;
    expect((await statusOf(client, containerId)).exitCode).toBe(143);

    const other = await runContainer(client, podSandboxId, { metadata: { name: "main", attempt: 1 } });
    const short = client.runtime.stopContainer({ containerId: other, timeout: 2n });
    await clock.advance(2_000);
    await short;
    expect((await statusOf(client, other)).exitCode).toBe(137);
  });

  test("respond to commands by the time since their start, within the timeout", async () => {
    const { client, clock, simulated } = await startNode();
    simulated.rules.add({
      match: { image: "test.local/*" },
      container: {
        exec: [
          { untilMs: 3_000, exitCode: 1, stdout: "not yet" },
          { stdout: "ok", delayMs: 500 },
        ],
      },
    });
    const containerId = await runContainer(client, await runSandbox(client));
    expect(await execIn(client, containerId, "ready?")).toMatchObject({ exitCode: 1, stdout: "not yet" });
    await clock.advance(3_000);
    const ready = execIn(client, containerId, "ready?");
    await clock.advance(500);
    expect(await ready).toMatchObject({ exitCode: 0, stdout: "ok" });

    simulated.rules.add({ container: { exec: () => ({ delayMs: 60_000 }) } });
    const call = client.runtime.execSync({ containerId, cmd: ["sleep", "60"], timeout: 2n });
    await failsAfter(clock, { ms: 2_000, call, error: { code: codes.DEADLINE_EXCEEDED } });
    const cut = client.runtime.execSync({ containerId, cmd: ["sleep", "60"], timeout: 0n });
    await client.runtime.stopContainer({ containerId, timeout: 0n });
    await clock.advance(60_000);
    expect(await cut).toMatchObject({ exitCode: 137 });
  });

  test("write a log file only if they have output", async () => {
    const logDirectory = await mkdtemp(join(tmpdir(), "kindling-simulated-log-"));
    const { client } = await startNode();
    const podSandboxId = await runSandbox(client, scripted({ "log.talker": "one\ntwo" }, { logDirectory }));
    const run = (name: string) =>
      runContainer(client, podSandboxId, { metadata: { name }, logPath: `${name}/0.log` });
    const talker = await run("talker");
    await run("quiet");
    const { logPath } = await statusOf(client, talker);
    expect(await readFile(logPath, "utf8")).toBe(
      "1970-01-01T00:16:40.000000000Z stdout F one\n1970-01-01T00:16:40.000000000Z stdout F two\n",
    );
    await expect(access(join(logDirectory, "quiet"))).rejects.toThrow("ENOENT");
    await rm(logPath);
    await client.runtime.reopenContainerLog({ containerId: talker });
    expect(await readFile(logPath, "utf8")).toBe("");
    await rm(logDirectory, { recursive: true });
  });

  test("use the resources of their rules", async () => {
    const { client, clock, simulated } = await startNode();
    simulated.rules.add({ container: { usage: { cpuNanoCores: 250_000_000, memoryBytes: 1_000 } } });
    const podSandboxId = await runSandbox(client);
    const containerId = await runContainer(client, podSandboxId);
    await clock.advance(4_000);
    const { stats } = await client.runtime.containerStats({ containerId });
    expect(stats).toMatchObject({
      cpu: { usageCoreNanoSeconds: { value: 1_000_000_000n }, usageNanoCores: { value: 250_000_000n } },
      memory: { workingSetBytes: { value: 1_000n } },
    });
    await client.runtime.stopContainer({ containerId, timeout: 0n });
    const { stats: pods } = await client.runtime.listPodSandboxStats({ filter: undefined });
    expect(pods[0]?.linux).toMatchObject({ memory: { usageBytes: { value: 0n } }, containers: [] });
    expect(await client.runtime.listContainerStats({ filter: undefined })).toEqual({ stats: [] });
  });
});

test("a node reports its problem while the rule exists", async () => {
  const { client, simulated } = await startNode();
  const conditions = async () => (await client.runtime.status({ verbose: false })).status?.conditions;
  const fault = simulated.rules.add({ status: { networkProblem: "cni config uninitialized" } });
  expect(await conditions()).toMatchObject([
    { type: "RuntimeReady", status: true },
    { type: "NetworkReady", status: false, message: "cni config uninitialized" },
  ]);
  simulated.rules.remove(fault);
  expect(await conditions()).toMatchObject([{ status: true }, { status: true }]);
});

test("exec and attach return the reason", async () => {
  const { client } = await startNode();
  const streams = { containerId: "x", tty: false, stdin: false, stdout: true, stderr: true };
  await expect(client.runtime.exec({ ...streams, cmd: ["sh"] })).rejects.toMatchObject({
    code: codes.UNIMPLEMENTED,
    details: expect.stringContaining("runs no processes"),
  });
  await expect(client.runtime.attach(streams)).rejects.toMatchObject({ code: codes.UNIMPLEMENTED });
});
