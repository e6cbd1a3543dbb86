import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Node } from "../../api/meta/objects.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { buildNode, buildNodeStatus } from "./build-node.ts";
import { answer, createFakeApi, machine, networkDown, nodeFacts, nodeOptions, now } from "./node.fixture.ts";
import {
  createNodeStatusUpdater,
  type NodeStatusUpdater,
  type NodeStatusUpdaterOptions,
  rebootEvent,
} from "./node-status-updater.ts";

let api: ReturnType<typeof createFakeApi>;
let clock: ManualClock;
let stop: AbortController;
let ended: Promise<void>;
let updater: NodeStatusUpdater;
let events: EventToRecord[];
/** State of the runtime. Undefined if it does not respond. */
let runtime: ReturnType<typeof answer> | undefined;

beforeEach(() => {
  api = createFakeApi();
  clock = createManualClock(now);
  stop = new AbortController();
  events = [];
  runtime = answer();
});

afterEach(async () => {
  stop.abort();
  await ended;
});

async function start(more: Partial<NodeStatusUpdaterOptions> = {}): Promise<void> {
  const respond = async <T>(choose: (from: ReturnType<typeof answer>) => T): Promise<T> => {
    if (!runtime) throw new Error("connect ENOENT");
    return choose(runtime);
  };
  updater = createNodeStatusUpdater({
    client: api.client,
    cri: {
      runtime: {
        version: () => respond(({ version }) => version),
        status: () => respond(({ status }) => status),
      },
      images: { listImages: async () => ({ images: [] }) },
    },
    clock,
    logger: silentLogger,
    recorder: { record: (_about, event) => void events.push(event) },
    node: nodeOptions,
    readMachine: async () => machine,
    ...more,
  });
  ended = updater.run(stop.signal);
  await clock.advance(0);
}

function ready(): string | undefined {
  const node = api.objects.get("nodes/node-1") as Node | undefined;
  return node?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

describe("registration", () => {
  test("registers a new node as ready with one request", async () => {
    await start();
    expect(api.calls).toEqual(["create nodes"]);
    expect(ready()).toBe("True");
    expect((await updater.registered).metadata.uid).toBeDefined();
    expect(events).toEqual([]);
  });

  test("writes nothing after a restart if nothing changed", async () => {
    api.keep("nodes/node-1", buildNode(nodeFacts()));
    await start();
    expect(api.calls).toEqual(["create nodes", "get nodes"]);
  });

  test("updates the node after a reboot and records the reboot", async () => {
    const old = nodeFacts({ machine: { ...machine, bootId: "boot-0" }, runtime: answer(networkDown) });
    api.keep("nodes/node-1", buildNode(old));
    await start();
    expect(api.calls).toEqual(["create nodes", "get nodes", "patch nodes"]);
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ["Rebooted", "Node node-1 has been rebooted, boot id: boot-1"],
      ["NodeReady", "Node node-1 status is now: NodeReady"],
    ]);
    expect(ready()).toBe("True");
  });

  test("applies taints to new nodes only", async () => {
    api.keep("nodes/node-1", buildNode(nodeFacts()));
    await start({ node: { ...nodeOptions, taints: [{ key: "a", effect: "NoSchedule" }] } });
    expect((api.objects.get("nodes/node-1") as Node).spec?.taints).toBeUndefined();
  });

  test("retries until the API server is available", async () => {
    api.failure = new Error("connect ECONNREFUSED");
    await start();
    await clock.advance(2_000);
    expect(updater.node()).toBeUndefined();
    api.failure = undefined;
    await clock.advance(4_000);
    expect(ready()).toBe("True");
  });

  test("waits for a node that another component creates", async () => {
    await start({ register: false });
    expect(updater.node()).toBeUndefined();
    api.keep("nodes/node-1", { ...buildNode(nodeFacts()), status: {} } as Node);
    await clock.advance(1_000);
    expect(api.calls).not.toContain("create nodes");
    expect(ready()).toBe("True");
  });
});

describe("status", () => {
  test("becomes ready soon after the runtime starts", async () => {
    runtime = undefined;
    await start();
    expect(ready()).toBe("False");
    runtime = answer();
    await clock.advance(200);
    expect(ready()).toBe("True");
    expect(events.map(({ reason }) => reason)).toEqual(["NodeReady"]);
  });

  test("reads the node at the normal rate while the runtime is down", async () => {
    runtime = answer(networkDown);
    await start();
    await clock.advance(60_000);
    expect(api.calls.length).toBeLessThanOrEqual(8);
    expect(api.patches).toEqual([]);
  });

  test("writes every five minutes if nothing changes", async () => {
    await start();
    await clock.advance(299_000);
    expect(api.patches).toEqual([]);
    await clock.advance(11_000);
    expect(api.patches).toHaveLength(1);
    await clock.advance(300_000);
    expect(api.patches).toHaveLength(2);
  });

  test("writes a change with the next update", async () => {
    await start();
    runtime = answer(networkDown);
    await clock.advance(10_000);
    expect(ready()).toBe("False");
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ["NodeNotReady", "Node node-1 status is now: NodeNotReady"],
    ]);
  });

  test("updates immediately on request", async () => {
    let shuttingDown = false;
    await start({ shuttingDown: () => shuttingDown });
    shuttingDown = true;
    updater.updateSoon();
    await clock.advance(0);
    expect(ready()).toBe("False");
  });

  test("restores conditions that a controller overwrote", async () => {
    await start();
    const node = api.objects.get("nodes/node-1") as Node;
    const conditions = node.status?.conditions?.map((each) => ({ ...each, status: "Unknown" }));
    api.keep("nodes/node-1", { ...node, status: { ...node.status, conditions } } as Node);
    await clock.advance(10_000);
    expect(ready()).toBe("True");
  });

  test("retries with a back-off while the API server is unavailable", async () => {
    await start();
    api.failure = new Error("away");
    await clock.advance(120_000);
    expect(api.calls.length).toBeLessThan(30);
    api.failure = undefined;
    runtime = answer(networkDown);
    await clock.advance(10_000);
    expect(ready()).toBe("False");
  });
});

const reported = buildNodeStatus(nodeFacts());

test("records a reboot once", () => {
  expect(rebootEvent("node-1", "boot-2", reported)).toEqual({
    type: "Warning",
    reason: "Rebooted",
    message: "Node node-1 has been rebooted, boot id: boot-2",
  });
});

test.each([
  ["the same boot", "boot-1", reported],
  ["a new node", "boot-2", undefined],
  ["an unknown boot ID", "", reported],
])("nothing to say: %s", (_, bootId, before) => {
  expect(rebootEvent("node-1", bootId, before)).toBeUndefined();
});
