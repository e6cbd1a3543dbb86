import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, describe, expect, test } from "vitest";
import type { Event, Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import type { CriClient } from "../../src/cri/cri-client.ts";
import { createLogger, silentLogger } from "../../src/lib/logger.ts";
import type { SimulationRules } from "../../src/simulated/scripts/rules.ts";
import type { PullScript } from "../../src/simulated/scripts/scripts.ts";
import { startSimulatedRuntime } from "../../src/simulated/start-simulated-runtime.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { type KubeletNode, type KubeletNodeOptions, startKubeletNode } from "../support/node/kubelet-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { startSimulatedOnSocket } from "../support/node/simulated-on-socket.ts";
import { runKindling } from "../support/programs/run-kindling.ts";
import { startTestServer } from "../support/servers/api-server.ts";

const gib = 2 ** 30;
const directory = temporaryFolder();
const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

/** A kubelet with an API server and a runtime that pulls images of these names. */
async function startNode(
  pulls: Readonly<Record<string, PullScript>>,
  { between, ...options }: Partial<KubeletNodeOptions> & { between?: (cri: CriClient) => CriClient } = {},
): Promise<KubeletNode & { rules: SimulationRules }> {
  const script = Object.entries(pulls).map(([image, pull]) => ({ match: { image: `${image}:*` }, pull }));
  const { client, rules, close } = await startSimulatedOnSocket({ script });
  const node = await startKubeletNode({ cri: between?.(client) ?? client, ...options });
  closing.push(() => node.close().then(close));
  return { ...node, rules };
}

/** The messages about the pod's image, in the order in which they were said. */
function pullMessages(events: readonly Event[]): string[] {
  return [...events]
    .filter(({ reason }) => ["Pulling", "Pulled", "BackOff", "Failed"].includes(reason ?? ""))
    .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
    .map(({ message }) => message ?? "");
}

const eachGib = { imagePullProgressType: "size", imagePullProgressInterval: "1Gi" };
const waitingOf = (pod: Pod) => pod.status?.containerStatuses?.[0]?.state?.waiting;
const containers = (image: string) => [{ name: "c", image }];

describe("KEP-3542 image pull progress", () => {
  test.each([
    [{ imagePullProgressType: "fast" }, "imagePullProgressType", /"none", "size", "time"/],
    [{ imagePullProgressInterval: "9" }, "imagePullProgressInterval", /at least 10 seconds/],
    [{ imagePullProgressInterval: "soon" }, "imagePullProgressInterval", /a number of seconds/],
    [
      { imagePullProgressType: "size", imagePullProgressInterval: "1023Mi" },
      "imagePullProgressInterval",
      /at least 1Gi/,
    ],
    [{ noProgressTimeout: -1 }, "noProgressTimeout", /0/],
    [{ noProgressTimeout: "1.5" }, "noProgressTimeout", /whole number|integer/],
  ])("3542-5 %j is refused at start, by `kindling kubelet --config`", async (fields, field, reason) => {
    const config = await writeConfig(fields);
    const run = await runKindling(["kubelet", "--kubeconfig", "unread", "--config", config]);
    expect(await run.exit).toBe(2);
    expect(run.output.stderr).toContain(`${field}: `);
    expect(run.output.stderr).toMatch(reason);
    expect(run.output.stdout).toBe("");
  });

  test.each([
    { imagePullProgressType: "time", imagePullProgressInterval: "10", noProgressTimeout: 0 },
    { imagePullProgressType: "size", imagePullProgressInterval: "1Gi", noProgressTimeout: 10 },
  ])("3542-5 the limits themselves are taken: %j", async (fields) => {
    const endpoint = `unix://${join(directory, `${fields.imagePullProgressType}.sock`)}`;
    const runtime = await startSimulatedRuntime({ logger: silentLogger, listen: endpoint });
    const server = await startTestServer();
    const config = await writeConfig({ ...fields, port: 0 });
    const run = await runKindling([
      ...["kubelet", "--kubeconfig", server.kubeconfig, "--runtime-endpoint", endpoint],
      ...["--node-name", "node-2", "--data-dir", join(directory, "node-2"), "--config", config],
    ]);
    await expect.poll(() => run.output.stdout + run.output.stderr).toMatch(/registered/);
    run.child.kill("SIGTERM");
    expect(await run.exit).toBe(0);
    await runtime.close();
    await server.close();
  });

  test.concurrent("3542-6 `Pulling image`, then progress events at the interval only, then `Pulled`", async () => {
    // Reports come each second: four gigabytes in twelve of them, and in sixteen.
    const pull = { sizeBytes: 4 * gib, layers: 4 };
    const through = takenAtOnce;
    const [bySize, byTime] = await Promise.all([
      startNode({ large: { ...pull, bytesPerSecond: gib / 3 } }, { config: eachGib, through }),
      startNode(
        { slow: { ...pull, bytesPerSecond: gib / 4 } },
        { config: { imagePullProgressInterval: "10" }, through },
      ),
    ]);
    await bySize.run("large", { containers: containers("large:1") });
    await byTime.run("slow", { containers: containers("slow:1") });
    await Promise.all([bySize.until("large", isReady), byTime.until("slow", isReady)]);
    await Promise.all([bySize.untilEvent("large", /^Success/), byTime.untilEvent("slow", /^Success/)]);

    const large = pullMessages(await bySize.events("large"));
    expect(large[0]).toBe('Pulling image "large:1"');
    expect(large.at(-1)).toMatch(
      /^Successfully pulled image "large:1" in \d\d(\.\d+)?s .*4294967296 bytes\.$/,
    );
    const reported = large.slice(1, -1);
    expect(reported.length).toBeGreaterThanOrEqual(2);
    expect(reported.length).toBeLessThanOrEqual(3);
    expect(reported[0]).toMatch(/: 1(\.\d)?Gi of 4Gi$/);
    for (const message of reported) {
      expect(message).toMatch(/^Pulling Container image large:1: [1-3](\.\d)?Gi of 4Gi$/);
    }

    const slow = pullMessages(await byTime.events("slow"));
    expect(slow).toEqual([
      'Pulling image "slow:1"',
      expect.stringMatching(/^Pulling Container image slow:1: [23](\.\d)?Gi of 4Gi$/),
      expect.stringMatching(/^Successfully pulled image "slow:1" in [1-9]\d(\.\d+)?s /),
    ]);
  });

  test.concurrent("3542-6 a node that pulls many images at once records one progress event per second", async () => {
    const pulls = { many: { sizeBytes: 6 * gib, bytesPerSecond: gib } };
    const node = await startNode(pulls, { config: eachGib });
    const names = Array.from({ length: 8 }, (_, i) => `many-${i}`);
    const began = Date.now();
    for (const name of names) await node.run(name, { containers: containers(`many:${name}`) });
    for (const name of names) await node.until(name, isReady);
    const events = (await Promise.all(names.map(node.events))).flat();
    const took = Date.now() - began;
    const reported = pullMessages(events).filter((message) => message.startsWith("Pulling Container image"));
    // Fewer where events take long to be written.
    expect(reported.length).toBeLessThanOrEqual(Math.ceil(took / 1_000) + 1);
  });

  test.concurrent("3542-6 events that cannot be written neither delay nor fail a pull", async () => {
    let refused = 0;
    const pulls = { unspoken: { sizeBytes: 3 * gib, bytesPerSecond: 1.5 * gib } };
    const node = await startNode(pulls, {
      config: eachGib,
      through: (client) =>
        ({
          ...client,
          create(...[resource, object, options]: Parameters<Client["create"]>) {
            if (resource !== "events") return client.create(resource, object, options);
            refused++;
            // As if the server had taken it and never answered.
            return new Promise((_resolve, reject) =>
              options?.signal?.addEventListener("abort", () => reject(options.signal?.reason)),
            );
          },
        }) as Client,
    });
    await node.run("unspoken", { containers: containers("unspoken:1") });
    await node.until("unspoken", isReady);
    expect(refused).toBeGreaterThan(0);
    expect(await node.events("unspoken")).toEqual([]);
  });

  test.concurrent("3542-7 a runtime without the call is used with PullImage, which is remembered and logged once", async () => {
    const log: string[] = [];
    const { between, calls } = countPulls({ withProgress: false });
    const logger = createLogger({
      format: "json",
      level: "info",
      destination: { write: (line) => log.push(line) },
    });
    const node = await startNode({}, { between, logger });
    for (const name of ["old-1", "old-2", "old-3"]) {
      await node.run(name, { containers: containers(`old:${name}`) });
      await node.until(name, isReady);
    }
    expect(calls).toEqual({ pullImage: 3, pullImageWithProgress: 1 });
    expect(log.filter((line) => line.includes("does not implement PullImageWithProgress"))).toHaveLength(1);
    await node.untilEvent("old-3", /^Successfully pulled/);
    expect(pullMessages(await node.events("old-3"))).toHaveLength(2);
  });

  test.concurrent("3542-10 a registry that stops sending: ErrImagePull with the reason in time, back-off, recovery", async () => {
    const pulls = { silent: { sizeBytes: gib, bytesPerSecond: gib, stallAtByte: gib / 2 } };
    const node = await startNode(pulls, { config: { noProgressTimeout: 2 } });
    const history = await node.follow("silent");
    await node.run("silent", { containers: containers("silent:1") });
    await node.until(
      "silent",
      (pod) => waitingOf(pod) !== undefined && waitingOf(pod)?.reason !== "ContainerCreating",
    );
    const backingOff = await node.until("silent", (pod) => waitingOf(pod)?.reason === "ImagePullBackOff");
    const why = /no progress, the registry sent nothing for 2 s/;
    expect(waitingOf(backingOff)?.message).toMatch(/^Back-off pulling image "silent:1": ErrImagePull: /);
    expect(waitingOf(backingOff)?.message).toMatch(why);
    node.rules.add({ match: { image: "silent:*" }, pull: { stallMs: 0 } });
    await node.until("silent", isReady, 40_000);
    await history.stop();
    const pulling = history.versions.map(waitingOf).find((waiting) => waiting?.reason === "ErrImagePull");
    expect(pulling?.message).toMatch(why);
    await node.untilEvent("silent", /^Failed to pull image "silent:1": .*no progress/);
  });

  test.concurrent("3542-12 gate off: plain PullImage without progress; with progress again when the gate is on", async () => {
    const { between, calls } = countPulls({ withProgress: true });
    const pulls = { gated: { sizeBytes: 3 * gib, bytesPerSecond: gib / 2 } };
    const node = await startNode(pulls, {
      between,
      through: takenAtOnce,
      config: eachGib,
      features: { ImagePullProgress: false },
    });
    await node.run("gated-off", { containers: containers("gated:off") });
    await node.until("gated-off", isReady);
    await node.untilEvent("gated-off", /^Successfully pulled/);
    expect(calls).toEqual({ pullImage: 1, pullImageWithProgress: 0 });
    expect(pullMessages(await node.events("gated-off"))).toHaveLength(2);
    await node.stop();
    await node.start({ features: { ImagePullProgress: true } });
    await node.run("gated-on", { containers: containers("gated:on") });
    await node.until("gated-on", isReady);
    await node.untilEvent("gated-on", /^Pulling Container image gated:on: /);
    expect(calls).toEqual({ pullImage: 1, pullImageWithProgress: 1 });
  });
});

async function writeConfig(fields: Record<string, unknown>): Promise<string> {
  const path = join(directory, `kubelet-${Math.random()}.json`);
  const kind = { apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" };
  await writeFile(path, JSON.stringify({ ...kind, ...fields }));
  return path;
}

/**
 * Events are written one after the other, without waiting for them: the longer a write takes, the fewer reports a node
 * publishes, and on a busy machine writes take long.
 */
function takenAtOnce(client: Client): Client {
  let before: Promise<unknown> = Promise.resolve();
  return {
    ...client,
    async create(resource, object, options) {
      if (resource !== "events") return client.create(resource, object, options);
      before = before.then(() => client.create(resource, object)).catch(() => {});
      return object;
    },
  };
}

/** For a runtime whose pulls are counted, with the new call or as all runtimes have been so far. */
function countPulls({ withProgress }: { withProgress: boolean }) {
  const calls = { pullImage: 0, pullImageWithProgress: 0 };
  const between = (cri: CriClient): CriClient => ({
    ...cri,
    images: {
      ...cri.images,
      pullImage(...call) {
        calls.pullImage++;
        return cri.images.pullImage(...call);
      },
      pullImageWithProgress(...call) {
        calls.pullImageWithProgress++;
        return withProgress ? cri.images.pullImageWithProgress(...call) : unimplemented();
      },
    },
  });
  return { between, calls };
}

function unimplemented<T>(): AsyncIterable<T> {
  const details = "unknown method PullImageWithProgress for service runtime.v1.ImageService";
  const error: Partial<ServiceError> = Object.assign(new Error(`12 UNIMPLEMENTED: ${details}`), {
    code: status.UNIMPLEMENTED,
    details,
    metadata: undefined,
  });
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}
