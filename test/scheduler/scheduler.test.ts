import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import type { Node, PersistentVolumeClaim, Pod, StorageClass } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { runWhileLeader } from "../../src/client/leader-election.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createScheduler } from "../../src/scheduler/scheduler.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";
import { startServerProcess } from "../support/server-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const namespace = "default";
const folder = temporaryFolder();

let server: TestServer;
let client: Client;
/** With the rights of a scheduler, and no others. */
let own: Client;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  const tokenFile = join(folder, "tokens.csv");
  await writeFile(tokenFile, "scheduler-token,system:kube-scheduler,1\n");
  server = await startTestServer({ tokenFile });
  client = await connectCluster({ kubeconfig: server.kubeconfig });
  const kubeconfig = parse(await readFile(server.kubeconfig, "utf8"));
  kubeconfig.users[0].user = { token: "scheduler-token" };
  const file = join(folder, "scheduler.kubeconfig");
  await writeFile(file, stringify(kubeconfig));
  own = await connectCluster({ kubeconfig: file });
  stops = [];
});
afterEach(async () => {
  for (const stop of stops) await stop();
  own.close();
  client.close();
  await server.close();
});

function startScheduler(over: Client = own, schedulerName?: string): () => Promise<void> {
  const stop = new AbortController();
  const scheduler = createScheduler({
    client: over,
    schedulerName,
    clock: systemClock,
    logger: silentLogger,
  });
  const running = scheduler.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  stops.push(end);
  return end;
}

function makeNode(name: string, parts: Partial<NonNullable<Node["spec"]>> = {}, cpu = "2"): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    spec: parts,
    status: { allocatable: { cpu, memory: "4Gi", pods: "110" } },
  };
}

type PodParts = Partial<NonNullable<Pod["spec"]>> & { cpu?: string; labels?: Record<string, string> };

async function createPod(name: string, { cpu, labels, ...spec }: PodParts = {}, over = client): Promise<Pod> {
  const resources = cpu ? { requests: { cpu } } : undefined;
  return over.create("pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels },
    spec: { containers: [{ name: "main", image: "app:1", resources }], ...spec },
  });
}

const getPod = (name: string) => client.get("pods", { namespace, name });
const nodeOf = async (name: string) => (await getPod(name)).spec?.nodeName;
const conditionOf = async (name: string) =>
  (await getPod(name)).status?.conditions?.find(({ type }) => type === "PodScheduled");
const eventsOf = async (name: string, reason: string) =>
  (await client.list("events", { namespace })).items.filter(
    (event) => event.involvedObject.name === name && event.reason === reason,
  );
const untilBound = (name: string) =>
  expect.poll(() => nodeOf(name), { timeout: 10_000, interval: 20 }).toBeTruthy();
const untilRefused = (name: string, message: string) =>
  expect
    .poll(async () => (await conditionOf(name))?.message, { timeout: 10_000, interval: 20 })
    .toContain(message);

describe("a pod", () => {
  test("is bound, and says so in its condition and an event", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("web");
    await untilBound("web");
    expect(await conditionOf("web")).toMatchObject({ status: "True" });
    await expect
      .poll(() => eventsOf("web", "Scheduled"))
      .toMatchObject([
        {
          type: "Normal",
          message: "Successfully assigned default/web to a",
          source: { component: "default-scheduler" },
        },
      ]);
  });

  test("that fits nowhere says why, once, and is bound when a node comes", async () => {
    await client.create("nodes", makeNode("small", {}, "1"));
    await client.create("nodes", makeNode("tainted", { taints: [{ key: "gpu", effect: "NoSchedule" }] }));
    startScheduler();
    await createPod("web", { cpu: "2" });
    await untilRefused("web", "0/2 nodes");
    expect(await conditionOf("web")).toMatchObject({
      status: "False",
      reason: "Unschedulable",
      message:
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
      observedGeneration: 1,
    });
    await expect
      .poll(() => eventsOf("web", "FailedScheduling"))
      .toMatchObject([{ type: "Warning", count: 1 }]);
    const { resourceVersion } = (await getPod("web")).metadata;
    await delay(200);
    expect((await getPod("web")).metadata.resourceVersion).toBe(resourceVersion);

    await client.create("nodes", makeNode("large"));
    await untilBound("web");
    expect(await nodeOf("web")).toBe("large");
  });

  test("is bound when another one makes room", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("first", { cpu: "2" });
    await untilBound("first");
    await createPod("second", { cpu: "2" });
    await untilRefused("second", "1 Insufficient cpu");
    await client.delete("pods", { namespace, name: "first" }, { gracePeriodSeconds: 0 });
    await untilBound("second");
  });

  test("is bound when the one comes that it wants to be near to", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "db" } } };
    await createPod("near", {
      affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
    });
    await untilRefused("near", "1 node(s) didn't match pod affinity rules");
    await createPod("db", { labels: { app: "db" } });
    await untilBound("near");
  });

  test("that somebody else binds at the same moment is theirs, and keeps its condition", async () => {
    await client.create("nodes", makeNode("a"));
    for (let i = 0; i < 2; i++) startScheduler();
    const names = Array.from({ length: 60 }, (_, i) => `p${i}`);
    await Promise.all(names.map((name) => createPod(name)));
    for (const name of names) await untilBound(name);
    await delay(300);
    const { items } = await client.list("pods", { namespace });
    const conditions = items.flatMap(({ status }) => status?.conditions ?? []);
    const scheduled = conditions.filter(({ type }) => type === "PodScheduled");
    expect(scheduled.map(({ status }) => status)).toEqual(names.map(() => "True"));
  });

  test("with gates waits for them to go", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("gated", { schedulingGates: [{ name: "example.com/wait" }] });
    await createPod("free");
    await untilBound("free");
    expect(await conditionOf("gated")).toMatchObject({ status: "False", reason: "SchedulingGated" });
    await client.patch(
      "pods",
      { namespace, name: "gated" },
      { patch: { kind: "json", body: [{ op: "remove", path: "/spec/schedulingGates" }] } },
    );
    await untilBound("gated");
  });

  test("of another scheduler is left to that", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("theirs", { schedulerName: "other" });
    await createPod("ours");
    await untilBound("ours");
    expect(await nodeOf("theirs")).toBeUndefined();
    startScheduler(own, "other");
    await untilBound("theirs");
  });

  test("that goes while it waits leaves nothing behind", async () => {
    startScheduler();
    await createPod("web");
    await untilRefused("web", "no nodes available to schedule pods");
    await client.delete("pods", { namespace, name: "web" });
    await createPod("web");
    await client.create("nodes", makeNode("a"));
    await untilBound("web");
  });
});

test("a node never gets more than it has, however many pods come at once", async () => {
  for (const name of ["a", "b", "c"]) await client.create("nodes", makeNode(name));
  startScheduler();
  await Promise.all(Array.from({ length: 40 }, (_, i) => createPod(`p${i}`, { cpu: "250m" })));
  const bound = async () =>
    (await client.list("pods", { namespace })).items.filter(({ spec }) => spec?.nodeName);
  await expect.poll(async () => (await bound()).length).toBe(24);
  await delay(300);
  const perNode = new Map<string, number>();
  for (const { spec } of await bound()) {
    perNode.set(spec?.nodeName ?? "", (perNode.get(spec?.nodeName ?? "") ?? 0) + 1);
  }
  expect([...perNode.values()]).toEqual([8, 8, 8]);
});

describe("storage", () => {
  const storageClass = (parts: Partial<StorageClass>): StorageClass => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "late" },
    provisioner: "example.com/disk",
    volumeBindingMode: "WaitForFirstConsumer",
    ...parts,
  });
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "data", namespace },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "late",
      resources: { requests: { storage: "1Gi" } },
    },
  };
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "data" } }];
  const getClaim = () => client.get("persistentvolumeclaims", { namespace, name: "data" });

  /** What the controller that binds volumes does. */
  async function completeClaim(volumeName: string): Promise<void> {
    const { metadata, spec, ...rest } = await getClaim();
    const annotations = { ...metadata.annotations, "pv.kubernetes.io/bind-completed": "yes" };
    await client.update("persistentvolumeclaims", {
      ...rest,
      metadata: { ...metadata, annotations },
      spec: { ...spec, volumeName },
    });
  }

  test("that is not there is named", async () => {
    await client.create("nodes", makeNode("a"));
    startScheduler();
    await createPod("web", { volumes });
    await untilRefused("web", '0/1 nodes are available: persistentvolumeclaim "data" not found.');
    await client.create("storageclasses", storageClass({ volumeBindingMode: "Immediate" }));
    await client.create("persistentvolumeclaims", claim);
    await untilRefused("web", "pod has unbound immediate PersistentVolumeClaims");
  });

  test("that is made for the first pod is made where that goes, and awaited", async () => {
    await client.create("nodes", makeNode("a"));
    await client.create("storageclasses", storageClass({}));
    await client.create("persistentvolumeclaims", claim);
    startScheduler();
    await createPod("web", { volumes });
    await expect
      .poll(async () => (await getClaim()).metadata.annotations?.["volume.kubernetes.io/selected-node"])
      .toBe("a");
    // The pod waits, others do not.
    await createPod("other");
    await untilBound("other");
    expect(await nodeOf("web")).toBeUndefined();
    await completeClaim("disk");
    await untilBound("web");
  });

  test("that is there is held for the claim, on the node where it is", async () => {
    for (const name of ["a", "b"]) await client.create("nodes", makeNode(name));
    await client.create("storageclasses", storageClass({ provisioner: "kubernetes.io/no-provisioner" }));
    await client.create("persistentvolumeclaims", claim);
    const disk = await client.create("persistentvolumes", {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "disk" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "late",
        capacity: { storage: "1Gi" },
        local: { path: "/mnt/disk" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["b"] }] },
            ],
          },
        },
      },
    });
    await client.update(
      "persistentvolumes",
      { ...disk, status: { phase: "Available" } },
      { subresource: "status" },
    );
    startScheduler();
    await createPod("web", { volumes });
    await expect
      .poll(async () => (await client.get("persistentvolumes", { name: "disk" })).spec?.claimRef?.name)
      .toBe("data");
    await completeClaim("disk");
    await untilBound("web");
    expect(await nodeOf("web")).toBe("b");
  });
});

describe("beginning again", () => {
  test("counts what is bound, and goes on with what is not", async () => {
    await client.create("nodes", makeNode("a"));
    const end = startScheduler();
    await createPod("first", { cpu: "1500m" });
    await untilBound("first");
    await end();
    await createPod("fits", { cpu: "500m" });
    await createPod("does-not", { cpu: "600m" });
    startScheduler();
    await untilBound("fits");
    await untilRefused("does-not", "1 Insufficient cpu");
  });

  test("a server that is killed and comes back is followed", async () => {
    const dataDir = join(folder, "restart");
    const first = await startServerProcess(["--data-dir", dataDir, "--listen", "127.0.0.1:0"]);
    const over = await connectCluster({ kubeconfig: first.kubeconfig });
    await over.create("nodes", makeNode("a"));
    const end = startScheduler(over);
    await createPod("before", {}, over);
    const bound = async (name: string) => (await over.get("pods", { namespace, name })).spec?.nodeName;
    await expect.poll(() => bound("before")).toBe("a");
    first.kill("SIGKILL");
    await first.exit;

    const { host } = new URL(first.url);
    const second = await startServerProcess(["--data-dir", dataDir, "--listen", host]);
    await createPod("after", {}, over);
    // Watches come back after a while that grows with each try that fails.
    await expect.poll(() => bound("after"), { timeout: 60_000 }).toBe("a");
    await end();
    over.close();
    first.disconnect();
    second.disconnect();
    second.kill("SIGTERM");
    await second.exit;
  });

  test("of two that want to lead, one schedules, and the other takes over", async () => {
    await client.create("nodes", makeNode("a"));
    const working = new Set<string>();
    const candidates = ["x", "y"].map((identity) => {
      const stop = new AbortController();
      const scheduler = createScheduler({ client: own, clock: systemClock, logger: silentLogger });
      const election = {
        client: own,
        namespace: "kube-system",
        name: "kube-scheduler",
        identity,
        clock: systemClock,
        logger: silentLogger,
        leaseDurationMs: 3_000,
        renewDeadlineMs: 1_000,
        retryPeriodMs: 50,
      };
      const ended = runWhileLeader(
        election,
        async (signal) => {
          working.add(identity);
          await scheduler.run(signal);
          working.delete(identity);
        },
        stop.signal,
      );
      const end = async () => {
        stop.abort();
        await ended;
      };
      stops.push(end);
      return { identity, end };
    });
    await createPod("one");
    await untilBound("one");
    expect(working.size).toBe(1);
    const leader = candidates.find(({ identity }) => working.has(identity));
    await leader?.end();
    await createPod("two");
    await untilBound("two");
    expect(working).toEqual(
      new Set(candidates.map(({ identity }) => identity).filter((id) => id !== leader?.identity)),
    );
  });
});
