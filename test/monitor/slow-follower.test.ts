import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Pod } from "../../src/api/objects.ts";
import type { Client } from "../../src/client/client.ts";
import { connectCluster } from "../../src/client/create-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock, type ManualClock } from "../../src/lib/manual-clock.ts";
import { createFeed, type LiveFeed } from "../../src/monitor/feed/create-feed.ts";
import { podStart } from "../../src/monitor/metrics/pod-start.fixture.ts";
import type { Monitor, StartingChange, StartingPod } from "../../src/monitor/monitor.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { startTestServer, type TestServer } from "../support/api-server.ts";

// Megabytes a second are much for a busy machine.
vi.setConfig({ testTimeout: 300_000 });

const podCount = 200;
/** All pods together say two megabytes in one message, so that the kernel's buffers are soon full. */
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

/** A monitor all of whose pods say something else all the time. */
function createBusyMonitor(): Monitor {
  const listeners: ((change: StartingChange) => void)[] = [];
  let round = 0;
  const all = () => Array.from({ length: podCount }, (_, i) => startingPod(i, round));
  churn = setInterval(() => {
    round++;
    for (const starting of all()) for (const tell of listeners) tell({ kind: "changed", starting });
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
      follow: feed.follow,
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

/** Hears the kinds of messages, once it reads. */
async function connect() {
  const request = get(`${server.url}/api/feed`, { agent: false });
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  pages.push(response);
  response.on("error", () => {});
  const heard: string[] = [];
  let rest = "";
  return {
    response,
    heard,
    snapshots: () => heard.filter((kind) => kind === "snapshot").length,
    read() {
      response.setEncoding("latin1").on("data", (chunk: string) => {
        const text = rest + chunk;
        let end = 0;
        for (const match of text.matchAll(/data: \{"kind":"(\w+)"/g)) {
          heard.push(match[1] ?? "");
          end = match.index + match[0].length;
        }
        rest = text.slice(Math.max(end, text.length - 40));
      });
    },
  };
}

/** Whoever reads goes on hearing of changes; the most that was held meanwhile. */
async function hearMore(reader: Awaited<ReturnType<typeof connect>>, more: number): Promise<number> {
  const until = reader.heard.length + more;
  let most = 0;
  await expect
    .poll(
      () => {
        most = Math.max(most, feed.load().heldLength);
        return reader.heard.length;
      },
      { interval: 20, timeout: 200_000 },
    )
    .toBeGreaterThanOrEqual(until);
  return most;
}

test("who does not read costs a bounded amount, holds nobody up, and gets a new snapshot when it reads again", async () => {
  const [stalled, reader] = [await connect(), await connect()];
  reader.read();
  const most = await hearMore(reader, 24);
  expect(most).toBeGreaterThan(messageLength);
  // Eight that wait, the one on its way, and what the reader itself is just getting; of all that were sent.
  expect(most).toBeLessThan(12 * messageLength);
  // It has fallen behind: nothing waits for it any more but what it began.
  await expect.poll(() => feed.load().heldLength, { interval: 5 }).toBeLessThan(4 * messageLength);

  stalled.read();
  await expect.poll(stalled.snapshots).toBeGreaterThanOrEqual(2);
  expect(stalled.heard.length).toBeLessThan(reader.heard.length);
  await hearMore(stalled, 3);
});

test("who does not read for half a minute is cut off, and the others stay", async () => {
  const [stalled, reader] = [await connect(), await connect()];
  reader.read();
  await hearMore(reader, 10);
  expect(feed.load().followers).toBe(2);
  // Whoever reads has had something new each time that the clock moves.
  for (let tens = 0; tens < 4; tens++) {
    await clock.advance(10_000);
    await hearMore(reader, 2);
  }
  await expect.poll(() => feed.load().followers).toBe(1);
  await hearMore(reader, 2);
  // What had come through is there; then it ends in the middle.
  stalled.response.resume();
  await expect.poll(() => stalled.response.closed).toBe(true);
});
