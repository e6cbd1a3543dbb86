import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createFeed } from "../../src/monitor/feed/create-feed.ts";
import type {
  Feed,
  FeedChange,
  FeedMessage,
  PodView,
  StatefulSetView,
} from "../../src/monitor/feed/feed-message.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { createMonitor } from "../../src/monitor/tracking/monitor.ts";
import { createMemoryStore } from "../../src/store/local/memory-store.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { makePod } from "../support/manifests/pod.ts";
import { makeStatefulSet } from "../support/manifests/workload.ts";

// The API server reaches the kubelet by the node's address.
const cluster = useCluster({ kubelet: { config: { address: "0.0.0.0" } } });
const stopping = new AbortController();
let running: Promise<unknown>;
let server: MonitorServer;

beforeAll(async () => {
  const deps = { client: cluster.client, clock: systemClock, logger: silentLogger };
  const options = { stuckAfterSeconds: 300, chosenLabels: [], chosenAnnotations: [] };
  const monitor = createMonitor({ ...deps, store: createMemoryStore(), options });
  const feed = createFeed({ ...deps, monitor, server: cluster.server.url, slos: () => [] });
  running = Promise.all([monitor.run(stopping.signal), feed.run(stopping.signal)]);
  server = await startMonitorServer({
    ...deps,
    listen: { host: "127.0.0.1", port: 0 },
    parts: {
      subscribe: feed.subscribe,
      scrape: () => ({ contentType: "text/plain", body: "" }),
      report: () => ({}),
    },
  });
});
afterAll(async () => {
  await server?.close();
  stopping.abort();
  await running;
});

/** Looks at the feed as the page does: a snapshot, to which changes are applied. */
async function look() {
  const request = get(`${server.url}/api/feed`, { agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const messages: FeedMessage[] = [];
  const pods = new Map<string, PodView>();
  const sets = new Map<string, StatefulSetView>();
  let feed: Partial<Feed> = {};

  function take(message: FeedMessage): void {
    messages.push(message);
    const { gone = [], goneStatefulSets = [] }: Partial<FeedChange> =
      message.kind === "change" ? message : {};
    const { finished = [], events = [] } = feed;
    feed = {
      ...feed,
      ...message,
      finished: [...(message.finished ?? []), ...finished],
      events: [...(message.events ?? []), ...events],
    };
    for (const view of message.starting ?? []) pods.set(view.uid, view);
    for (const uid of gone) pods.delete(uid);
    for (const view of message.statefulSets ?? []) sets.set(`${view.namespace}/${view.name}`, view);
    for (const key of goneStatefulSets) sets.delete(key);
  }

  const lines = createInterface(response);
  lines.on("line", (line) => line.startsWith("data: ") && take(JSON.parse(line.slice(6))));
  // The test hangs up.
  for (const each of [request, response, lines]) each.on("error", () => {});
  await expect.poll(() => messages.length).toBeGreaterThan(0);
  return {
    messages,
    feed: () => feed,
    pod: (name: string) => [...pods.values()].find((view) => view.name === name),
    set: (name: string) => sets.get(`default/${name}`),
    /** Views of the pod in order. */
    history: (name: string) =>
      messages.flatMap(({ starting = [] }) => starting.filter((view) => view.name === name)),
    stop: () => request.destroy(),
  };
}

/** Fields of pods that are deleted at once. */
const atOnce = { terminationGracePeriodSeconds: 0 };

test("follows a pod from Pending to finished, with its pull", async () => {
  cluster.given({
    match: { image: "big:1" },
    pull: { sizeBytes: 40 * 2 ** 20, layers: 4, bytesPerSecond: 5 * 2 ** 20 },
  });
  const page = await look();
  expect(page.messages[0]).toMatchObject({
    kind: "snapshot",
    cluster: { server: cluster.server.url },
    starting: [],
    statefulSets: [],
    slos: [],
  });
  await expect.poll(() => page.feed().nodes).toMatchObject([{ name: "node-1", ready: true }]);
  await cluster.client.create(
    "pods",
    makePod("big", { ...atOnce, container: { image: "big:1", imagePullPolicy: "Always" } }),
  );
  const pulling = () => page.history("big").find(({ pulls: [pull] }) => pull?.layers.length === 4);
  await expect.poll(pulling).toMatchObject({
    namespace: "default",
    node: "node-1",
    owner: "Pod/big",
    stage: "pulling",
    because: expect.stringContaining("big:1"),
    pulls: [{ container: "c", image: expect.stringContaining("big:1"), total: 40 * 2 ** 20 }],
  });
  await expect
    .poll(() => page.feed().finished?.find(({ name }) => name === "big"))
    .toMatchObject({
      namespace: "default",
      node: "node-1",
      owner: "Pod/big",
      stages: { scheduling: expect.any(Number), sandbox: expect.any(Number), containers: expect.any(Number) },
    });
  await expect.poll(() => page.pod("big")).toBeUndefined();
  const offsets = page.history("big").flatMap(({ pulls }) => pulls.map(({ offset }) => offset));
  expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
  await expect.poll(() => page.feed().events?.map(({ reason }) => reason)).toContain("Pulled");
  await expect.poll(() => page.feed().nodes).toMatchObject([{ name: "node-1", pods: 1, starting: 0 }]);
  // Later subscribers find it in the snapshot.
  const later = await look();
  expect(later.feed()).toMatchObject({
    cluster: { version: expect.stringMatching(/^v1\./) },
    finished: [{ name: "big" }],
  });
  page.stop();
  later.stop();
});

test("a startup probe's failures against its budget", async () => {
  cluster.given({ match: { pod: "slow" }, container: { exec: () => ({ exitCode: 1 }) } });
  const page = await look();
  const startupProbe = { exec: { command: ["up"] }, periodSeconds: 1, failureThreshold: 60 };
  await cluster.client.create("pods", makePod("slow", { ...atOnce, container: { startupProbe } }));
  await expect.poll(() => page.pod("slow")?.probes[0]?.failures).toBeGreaterThan(1);
  expect(page.pod("slow")).toMatchObject({
    stage: "starting",
    probes: [{ container: "c", threshold: 60, periodSeconds: 1 }],
  });
  await cluster.client.delete("pods", { namespace: "default", name: "slow" });
  await expect.poll(() => page.pod("slow")).toBeUndefined();
  page.stop();
});

test("text of a pod is sent unchanged, as text", async () => {
  const nasty = '"},"kind":"snapshot"}\n\ndata: {}</script><img src=x onerror=alert(1)>\u2028\u202e\0';
  const page = await look();
  const pod = await cluster.client.create(
    "pods",
    makePod("nasty", { ...atOnce, schedulerName: "no-scheduler" }),
  );
  await cluster.client.create("events", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "default", name: "nasty.1" },
    involvedObject: { kind: "Pod", namespace: "default", name: "nasty", uid: pod.metadata.uid },
    reason: "FailedScheduling",
    message: nasty,
    type: "Warning",
    lastTimestamp: new Date().toISOString(),
    count: 1,
  });
  await expect
    .poll(() => page.feed().events?.find(({ reason }) => reason === "FailedScheduling")?.message)
    .toBe(nasty);
  await expect.poll(() => page.pod("nasty")?.because).toContain("</script><img src=x onerror=alert(1)>");
  expect(page.messages.filter(({ kind }) => kind === "snapshot")).toHaveLength(1);
  await cluster.client.delete("pods", { namespace: "default", name: "nasty" });
  await expect.poll(() => page.pod("nasty")).toBeUndefined();
  page.stop();
});

test("a StatefulSet: its ordinals, its blocking pod and its deletion", async () => {
  const page = await look();
  cluster.given({ match: { image: "broken:2" }, pull: { failure: { kind: "notFound" } } });
  await cluster.client.create("statefulsets", makeStatefulSet("db", { replicas: 2, pod: atOnce }));
  const healths = () => page.set("db")?.ordinals.map(({ health }) => health);
  await expect.poll(healths).toEqual(["ready", "ready"]);
  expect(page.set("db")).toMatchObject({ strategy: "RollingUpdate", replicas: 2 });
  await expect.poll(() => page.set("db")?.blockedBy).toBeUndefined();
  const container = { name: "c", image: "broken:2", imagePullPolicy: "Always" };
  const body = { spec: { template: { spec: { containers: [container] } } } };
  await cluster.client.patch(
    "statefulsets",
    { namespace: "default", name: "db" },
    { patch: { kind: "merge", body } },
  );
  await expect.poll(healths).toEqual(["ready", "failing"]);
  await expect.poll(() => page.set("db")?.blockedBy).toMatch(/^db-1: .*broken:2/);
  const [first, second] = page.set("db")?.ordinals ?? [];
  expect(first?.revision).not.toBe(second?.revision);
  expect(second?.revision).toBe(page.set("db")?.updateRevision);
  await cluster.client.delete("statefulsets", { namespace: "default", name: "db" });
  await expect.poll(() => page.set("db")).toBeUndefined();
  page.stop();
});
