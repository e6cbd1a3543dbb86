import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type CriClient, connectCri } from "../../src/cri/cri-client.ts";
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
  RunPodSandboxRequest,
} from "../../src/cri/generated/cri.ts";
import { podConfig, runContainer, runSandbox } from "../support/cri/cri-pod.ts";
import { buildBusybox } from "../support/cri/cri-runtime.ts";
import { makeGatedHandler } from "../support/cri/gated-handler.ts";
import { findTraces, networkNotes, ownBridges } from "../support/cri/machine-traces.ts";
import { rounds } from "../support/fuzz/rounds.ts";
import { kindlingProgram } from "../support/programs/run-kindling.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { findLeftovers, type Leftovers } from "./leftovers.ts";

/** Number of operations of the whole test. */
const operations = rounds(20);
/** Maximum time between two kills of the daemon. */
const maxLifeMs = 1_500;

describeWithTool("busybox", "kill -9 of the daemon in the middle of random operations", () => {
  describeWithTool("conmon", "with the driver oci", () => leavesNothing("oci"));
  describe("with the driver host", () => leavesNothing("host"));
});

const nothing: Leftovers = {
  bridgePorts: [],
  takenAddresses: [],
  rules: [],
  insiders: [],
  pinnedNamespaces: [],
  files: [],
};

describeWithTool("busybox", "kill -9 of the daemon while a RuntimeClass handler works", () => {
  describeWithTool("runc", "on a sandbox", () => {
    test.each(["create", "start"] as const)(
      "3085-15 in %s: the next daemon kills the handler and leaves nothing of the sandbox",
      async (call) => {
        const directory = await mkdtemp(join(tmpdir(), "kindling-crash-"));
        const dataDir = join(directory, "data");
        const endpoint = `unix://${join(directory, "cri.sock")}`;
        const config = join(directory, "runtime.yaml");
        const handler = makeGatedHandler();
        writeFileSync(config, JSON.stringify({ handlers: { gated: handler.path } }));
        const daemonOptions = { dataDir, endpoint, driver: "oci", said: [], more: ["--config", config] };
        const client = connectCri(endpoint);
        let daemon = await startDaemon(daemonOptions);

        if (call === "create") handler.hold();
        else handler.holdStart();
        const request = RunPodSandboxRequest.fromPartial({ config: podConfig(), runtimeHandler: "gated" });
        const cutOff = expect(client.runtime.runPodSandbox(request)).rejects.toThrow();
        // The first attempt is `create`, which is still running for a moment when `start` is held.
        const attempts = call === "create" ? 1 : 2;
        await expect.poll(() => handler.attempts().length, { timeout: 30_000 }).toBe(attempts);
        const ids = readdirSync(join(dataDir, "sandboxes")).map((name) => name.replace(".json", ""));
        const gone = once(daemon, "exit");
        daemon.kill("SIGKILL");
        await Promise.all([gone, cutOff]);
        expect(handler.waiting()).toHaveLength(1);

        daemon = await startDaemon(daemonOptions);
        await expect.poll(() => handler.waiting(), { timeout: 30_000 }).toEqual([]);
        const bridges = await ownBridges(dataDir);
        expect(await findLeftovers({ dataDir, podIds: ids, bridges })).toEqual(nothing);
        handler.open();
        const { podSandboxId } = await client.runtime.runPodSandbox(request);
        await client.runtime.removePodSandbox({ podSandboxId });
        const ended = once(daemon, "exit");
        daemon.kill("SIGTERM");
        await ended;
        client.close();
        await expect
          .poll(() => findTraces({ dataDir, ids: [...ids, podSandboxId], bridges }))
          .toEqual({ mounts: [], processes: [], cgroups: [], interfaces: [] });
        handler.remove();
        await rm(directory, { recursive: true, force: true });
      },
      120_000,
    );
  });
});

function leavesNothing(driver: "oci" | "host"): void {
  test("leaves no mount, process, cgroup, interface or address, and the daemon restarts each time", async () => {
    const directory = await mkdtemp(join(tmpdir(), "kindling-crash-"));
    const dataDir = join(directory, "data");
    const endpoint = `unix://${join(directory, "cri.sock")}`;
    const client = connectCri(endpoint);
    const ids = new Set<string>();
    const said: string[] = [];
    let daemon = await startDaemon({ dataDir, endpoint, driver, said });
    await buildBusybox({ dataDir, directory });

    // It shows what is there, or it would show nothing afterwards either.
    await runOnePod(client);
    const during = await findLeftovers({ dataDir, podIds: [], bridges: await ownBridges(dataDir) });
    for (const [kind, found] of Object.entries(during))
      if (kind !== "rules") expect(found, kind).not.toEqual([]);

    let done = 0;
    let kills = 0;
    while (done < operations) {
      const life = new AbortController();
      const work = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!life.signal.aborted && done < operations) {
            done++;
            // Whatever the kill cuts off is expected to fail.
            await randomOperation(client, ids).catch(() => {});
          }
        }),
      );
      await Promise.race([work, delay(200 + Math.random() * maxLifeMs)]);
      const gone = once(daemon, "exit");
      daemon.kill("SIGKILL");
      kills++;
      life.abort();
      // Until it has died the directory is still its own.
      await Promise.all([work, gone]);
      // Also pods whose creation the kill interrupted, and whose ids were never returned.
      for (const id of (await networkNotes(dataDir)).podIds) ids.add(id);
      daemon = await startDaemon({ dataDir, endpoint, driver, said });
    }

    const { items } = await client.runtime.listPodSandbox({ filter: undefined });
    for (const { id } of items) await client.runtime.removePodSandbox({ podSandboxId: id });
    expect(await client.runtime.listContainers({ filter: undefined })).toEqual({ containers: [] });
    const bridges = await ownBridges(dataDir);
    // Before the daemon removes the bridge: a leftover veth would then have no bridge.
    await expect.poll(() => findLeftovers({ dataDir, podIds: [...ids], bridges })).toEqual(nothing);
    daemon.kill("SIGTERM");
    await new Promise((resolve) => daemon.once("exit", resolve));
    client.close();
    console.log(`${driver}: ${done} operations, ${kills} kills, ${ids.size} objects`);
    expect(said.join("")).not.toContain("MaxListenersExceededWarning");
    await expect
      .poll(() => findTraces({ dataDir, ids: [...ids], bridges }))
      .toEqual({ mounts: [], processes: [], cgroups: [], interfaces: [] });
    expect(await networkNotes(dataDir)).toEqual({ podIds: [], addresses: [] });
    for (const kind of ["sandboxes", "containers"]) expect(readdirSync(join(dataDir, kind))).toEqual([]);
    await rm(directory, { recursive: true, force: true });
  }, 900_000);
}

async function runOnePod(client: CriClient): Promise<void> {
  const podSandboxId = await runSandbox(client, podConfig({}));
  await runContainer(client, podSandboxId, { command: ["sleep", "1000"] });
}

async function startDaemon(options: {
  dataDir: string;
  endpoint: string;
  driver: string;
  said: string[];
  /** Further arguments. */
  more?: readonly string[];
}): Promise<ChildProcess> {
  const { dataDir, endpoint, driver, said, more = [] } = options;
  const args = [
    "runtime",
    "--data-dir",
    dataDir,
    "--listen",
    endpoint,
    "--driver",
    driver,
    "--log-level",
    "warn",
    ...more,
  ];
  const child = spawn(process.execPath, [await kindlingProgram(), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stderr?.on("data", (chunk) => {
    if (process.env.KINDLING_TEST_LOG) process.stderr.write(chunk);
    said.push(String(chunk));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${said.join("")}`)));
    child.stdout?.on("data", (chunk) => {
      if (String(chunk).includes("CRI at")) resolve();
    });
  });
  return child;
}

async function randomOperation(client: CriClient, ids: Set<string>): Promise<void> {
  const { items } = await client.runtime.listPodSandbox({ filter: undefined });
  const { containers } = await client.runtime.listContainers({ filter: undefined });
  for (const { id } of [...items, ...containers]) ids.add(id);
  const ready = items.filter(({ state }) => state === PodSandboxState.SANDBOX_READY);
  const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
  const sandbox = pick(ready)?.id;
  const container = pick(running)?.id;
  const dice = Math.random();
  if (items.length < 3 || (dice < 0.3 && items.length < 8)) {
    const pid = Math.random() < 0.2 ? NamespaceMode.POD : NamespaceMode.CONTAINER;
    await runSandbox(client, podConfig({ linux: { securityContext: { namespaceOptions: { pid } } } }));
  } else if (dice < 0.65 && sandbox) {
    const metadata = { name: `c-${Math.random().toString(36).slice(2)}`, attempt: 0 };
    await runContainer(client, sandbox, { metadata, command: ["sleep", "1000"] });
  } else if (dice < 0.75 && container) {
    await client.runtime.stopContainer({ containerId: container, timeout: 0n });
  } else if (dice < 0.85) {
    const containerId = pick(containers)?.id;
    if (containerId) await client.runtime.removeContainer({ containerId });
  } else if (dice < 0.92 && sandbox) {
    await client.runtime.stopPodSandbox({ podSandboxId: sandbox });
  } else {
    const podSandboxId = pick(items)?.id;
    if (podSandboxId) await client.runtime.removePodSandbox({ podSandboxId });
  }
}

function pick<T>(list: readonly T[]): T | undefined {
  return list[Math.floor(Math.random() * list.length)];
}
