import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../src/api/meta/feature-gates.ts";
import type { Pod, PodStatus } from "../../../src/api/meta/objects.ts";
import type { Client } from "../../../src/client/api/client.ts";
import { connectCluster } from "../../../src/client/api/create-client.ts";
import { generatePodStatus } from "../../../src/kubelet/status/generate-pod-status.ts";
import {
  conditionOf,
  exited,
  makeFacts,
  observe,
  observedContainer,
  running,
  sandbox,
} from "../../../src/kubelet/status/status.fixture.ts";
import type { StatusFacts } from "../../../src/kubelet/status/status-facts.ts";
import { createStatusWriter, type StatusWriter } from "../../../src/kubelet/status/status-writer.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { makePod } from "../../support/manifests/pod.ts";
import { ownPort } from "../../support/network/own-share.ts";
import { startTestServer, type TestServer } from "../../support/servers/api-server.ts";

let dataDir: string;
let server: TestServer;
let client: Client;
let writer: StatusWriter;
let stop: AbortController;
let ended: Promise<void>;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-status-"));
  server = await startTestServer({ dataDir, port: await ownPort(), store: { kind: "lmdb" } });
  client = await connectCluster({ kubeconfig: server.kubeconfig });
  startWriter();
});

afterEach(async () => {
  await stopWriter();
  client.close();
  await server.close();
  await rm(dataDir, { recursive: true, force: true });
});

function startWriter(): void {
  stop = new AbortController();
  writer = createStatusWriter({
    client,
    clock: systemClock,
    logger: silentLogger,
    features: defaultFeatures,
  });
  ended = writer.run(stop.signal);
}

async function stopWriter(): Promise<void> {
  stop.abort();
  await ended;
}

const podPath = "/api/v1/namespaces/default/pods";

function createPod(name = "web"): Promise<Pod> {
  const container = { name: "web", image: "registry/web:1", resources: { limits: { cpu: "1000m" } } };
  return server.json("POST", podPath, makePod(name, { nodeName: "node", container }));
}

const fetchPod = (name = "web") => server.json<Pod>("GET", `${podPath}/${name}`);

/** Sets the status as the kubelet's worker does after each sync. */
function publish(pod: Pod, facts: Partial<StatusFacts>): PodStatus {
  const status = generatePodStatus(
    makeFacts({ pod, previous: writer.latest(pod), now: Date.now(), ...facts }),
  );
  writer.set(pod, status);
  return status;
}

const flushed = (pod: Pod) => writer.flushed(pod.metadata.uid ?? "", AbortSignal.timeout(60_000));

async function patchCount(): Promise<number> {
  const { text } = await server.call("GET", "/metrics");
  return text
    .split("\n")
    .filter((line) => line.startsWith("apiserver_request_total{"))
    .filter((line) =>
      ['verb="PATCH"', 'resource="pods"', 'subresource="status"'].every((part) => line.includes(part)),
    )
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const up = observe([observedContainer("web", running)]);

test("3085-1 a pod's start, as the API shows it", async () => {
  const pod = await createPod();
  publish(pod, {});
  await flushed(pod);
  const first = await fetchPod();
  expect(first.status).toMatchObject({ phase: "Pending", qosClass: "Burstable", hostIP: "192.168.0.7" });
  expect(conditionOf(first.status ?? {}, "PodReadyToStartContainers")).toMatchObject({ status: "False" });
  expect(conditionOf(first.status ?? {}, "PodReadyToStartContainers")?.lastProbeTime ?? null).toBeNull();
  publish(first, { observed: up });
  await flushed(pod);
  const second = await fetchPod();
  expect(second.status).toMatchObject({ phase: "Running", podIP: "10.0.0.5", podIPs: [{ ip: "10.0.0.5" }] });
  expect(conditionOf(second.status ?? {}, "Ready")).toMatchObject({ status: "True" });
  expect(conditionOf(second.status ?? {}, "Ready")).not.toHaveProperty("reason");
});

test("3085-9 one PATCH for all that changed, none when the API has it already", async () => {
  const pod = await createPod();
  publish(pod, { observed: up });
  await flushed(pod);
  expect(await patchCount()).toBe(1);
  // Again and again, with the old copy of the pod and with the new one, and after a restart of the kubelet.
  publish(pod, { observed: up });
  publish(await fetchPod(), { observed: up });
  await flushed(pod);
  await stopWriter();
  startWriter();
  publish(await fetchPod(), { observed: up });
  await flushed(pod);
  expect(await patchCount()).toBe(1);
});

test("3085-9 writes of a flapping sandbox are rate-limited, and its last state is written", async () => {
  const pod = await createPod();
  const down = observe([observedContainer("web", exited(137))], [sandbox({ ready: false })]);
  const startedAt = Date.now();
  for (let i = 0; i < 200; i++) {
    publish(pod, { observed: i % 2 ? up : down });
    await systemClock.sleep(5);
  }
  await flushed(pod);
  const seconds = Math.ceil((Date.now() - startedAt) / 1_000);
  expect(await patchCount()).toBeLessThanOrEqual(10 + seconds);
  expect(conditionOf((await fetchPod()).status ?? {}, "PodReadyToStartContainers")?.status).toBe("True");
});

test("a new address replaces the old one; conditions of other writers are kept", async () => {
  const pod = await createPod();
  publish(pod, { observed: up });
  await flushed(pod);
  const gate = { type: "example.com/lb", status: "True" };
  const patched = await server.call("PATCH", `${podPath}/web/status`, {
    body: { status: { conditions: [gate] } },
    headers: { "content-type": "application/strategic-merge-patch+json" },
  });
  expect(patched.status).toBe(200);
  // The kubelet has not received it yet.
  publish(pod, { observed: observe(up.containers, [sandbox({ ips: ["10.0.0.9", "fd00::9"] })]) });
  await flushed(pod);
  const { status } = await fetchPod();
  expect(status?.podIPs).toEqual([{ ip: "10.0.0.9" }, { ip: "fd00::9" }]);
  expect(conditionOf(status ?? {}, gate.type)).toMatchObject(gate);
});

test("does not write to another pod of the same name", async () => {
  const pod = await createPod();
  await server.json("DELETE", `${podPath}/web`, { gracePeriodSeconds: 0 });
  await createPod();
  publish(pod, { observed: up });
  await flushed(pod);
  expect((await fetchPod()).status?.phase).toBe("Pending");
});

describe("3085-8 without the API server", () => {
  test("writes the latest status with the original times", async () => {
    const pod = await createPod();
    publish(pod, {});
    await flushed(pod);
    const { port } = new URL(server.url);
    await server.close();
    const happened = publish(pod, { observed: up, now: Date.now() - 60_000 });
    publish(pod, { observed: up });
    await systemClock.sleep(500);
    server = await startTestServer({ dataDir, store: { kind: "lmdb" }, port: Number(port) });
    await flushed(pod);
    await expect
      .poll(async () => conditionOf((await fetchPod()).status ?? {}, "PodReadyToStartContainers"))
      .toEqual(conditionOf(happened, "PodReadyToStartContainers"));
  });
});
