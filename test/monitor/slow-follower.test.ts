import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock, type ManualClock } from "../../src/lib/manual-clock.ts";
import { createFeed, type LiveFeed } from "../../src/monitor/feed/create-feed.ts";
import { podStart } from "../../src/monitor/metrics/pod-start.fixture.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import type { Monitor, StartingChange, StartingPod } from "../../src/monitor/tracking/monitor.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";

// Megabytes a second are much for a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const podCount = 200;
/** One message about all pods has two megabytes, which fills the kernel's buffers. */
const wordsOfEach = 10_000;
const messageLength = podCount * wordsOfEach;

let api: TestServer;
let client: Client;
let feed: LiveFeed;
let server: MonitorServer;
let clock: ManualClock;
let churn: NodeJS.Timeout;
let stopping: AbortController;
let running: Promise<void>;
const pages: IncomingMessage[] = [];

beforeAll(async () => {
  api = await startTestServer();
  client = await connectCluster({ kubeconfig: api.kubeconfig });
});
afterAll(async () => {
  client?.close();
  await api?.close();
});

function startingPod(i: number, round: number): StartingPod {
  const message = `${round} `.repeat(wordsOfEach).slice(0, wordsOfEach);
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
  const metadata = { name: `web-${i}`, namespace: "shop", uid: `uid-${i}` };
  return {
    start: podStart({ pod: { uid: `uid-${i}`, name: `web-${i}` } }),
    stage: "scheduling",
    stuck: false,
    pod: { metadata, spec: { containers: [] }, status: { phase: "Pending", conditions } } as unknown as Pod,
    events: [],
  };
}

/** A monitor whose pods all change continuously. */
function createBusyMonitor(): Monitor {
  const listeners: ((change: StartingChange) => void)[] = [];
  let round = 0;
  const all = () => Array.from({ length: podCount }, (_, i) => startingPod(i, round));
  churn = setInterval(() => {
    round++;
    for (const starting of all()) for (const listener of listeners) listener({ kind: "changed", starting });
  }, 150);
  const nothing = () => {};
  return {
    onSignal: nothing,
    onGone: nothing,
    onEvent: nothing,
    onStarting: (listener) => void listeners.push(listener),
    starting: all,
    finished: () => [],
    pods: () => [],
    podsOf: () => [],
    availability: { unavailableMs: () => 0, knownUntilMs: () => undefined },
    confirm: async () => new Map(),
    synced: Promise.resolve(),
    run: async () => {},
  };
}

beforeEach(async () => {
  stopping = new AbortController();
  // The server's own: how long it waits for a reader is up to the test.
  clock = createManualClock();
  const deps = { client, clock: systemClock, logger: silentLogger };
  feed = createFeed({ ...deps, monitor: createBusyMonitor(), server: api.url, slos: () => [] });
  running = feed.run(stopping.signal);
  server = await startMonitorServer({
    ...deps,
    clock,
    listen: { host: "127.0.0.1", port: 0 },
    parts: {
      subscribe: feed.subscribe,
      scrape: () => ({ contentType: "text/plain", body: "" }),
      report: () => ({}),
    },
  });
});
afterEach(async () => {
  clearInterval(churn);
  for (const page of pages.splice(0)) page.destroy();
  await server.close();
  stopping.abort();
  await running;
});

/** Records the kinds of messages, once it reads. */
async function connect() {
  const request = get(`${server.url}/api/feed`, { agent: false });
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  pages.push(response);
  response.on("error", () => {});
  const received: string[] = [];
  let rest = "";
  return {
    response,
    received,
    snapshots: () => received.filter((kind) => kind === "snapshot").length,
    read() {
      response.setEncoding("latin1").on("data", (chunk: string) => {
        const text = rest + chunk;
        let end = 0;
        for (const match of text.matchAll(/data: \{"kind":"(\w+)"/g)) {
          received.push(match[1] ?? "");
          end = match.index + match[0].length;
        }
        rest = text.slice(Math.max(end, text.length - 40));
      });
    },
  };
}

/** Waits until that many more messages arrive; returns the maximum number of bytes that were buffered meanwhile. */
async function waitForChanges(reader: Awaited<ReturnType<typeof connect>>, more: number): Promise<number> {
  const until = reader.received.length + more;
  let most = 0;
  await expect
    .poll(
      () => {
        most = Math.max(most, feed.load().bufferedLength);
        return reader.received.length;
      },
      { interval: 20, timeout: 200_000 },
    )
    .toBeGreaterThanOrEqual(until);
  return most;
}

test("a subscriber that does not read costs bounded memory, delays no other, and gets a new snapshot when it reads again", async () => {
  const [stalled, reader] = [await connect(), await connect()];
  reader.read();
  const most = await waitForChanges(reader, 24);
  expect(most).toBeGreaterThan(messageLength);
  // Eight that wait, the one on its way, and what the reader itself is just getting; of all that were sent.
  expect(most).toBeLessThan(12 * messageLength);
  // It has fallen behind: nothing waits for it any more but what it began.
  await expect.poll(() => feed.load().bufferedLength, { interval: 5 }).toBeLessThan(4 * messageLength);

  stalled.read();
  await expect.poll(stalled.snapshots).toBeGreaterThanOrEqual(2);
  expect(stalled.received.length).toBeLessThan(reader.received.length);
  await waitForChanges(stalled, 3);
});

test("a subscriber that does not read for 30 seconds is disconnected, and others are not", async () => {
  const [stalled, reader] = [await connect(), await connect()];
  reader.read();
  await waitForChanges(reader, 10);
  expect(feed.load().subscribers).toBe(2);
  // A subscriber that reads got a change each time that the clock advanced.
  for (let tens = 0; tens < 4; tens++) {
    await clock.advance(10_000);
    await waitForChanges(reader, 2);
  }
  await expect.poll(() => feed.load().subscribers).toBe(1);
  await waitForChanges(reader, 2);
  // What had come through is there; then it ends in the middle.
  stalled.response.resume();
  await expect.poll(() => stalled.response.closed).toBe(true);
});
