import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Node } from "../../api/objects.ts";
import type { EventToRecord } from "../../client/event-recorder.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { buildNode } from "./build-node.ts";
import { answer, createFakeApi, machine, networkDown, nodeFacts, nodeOptions, now } from "./node.fixture.ts";
import {
  createNodeStatusUpdater,
  type NodeStatusUpdater,
  type NodeStatusUpdaterOptions,
} from "./node-status-updater.ts";

let api: ReturnType<typeof createFakeApi>;
let clock: ManualClock;
let stop: AbortController;
let ended: Promise<void>;
let updater: NodeStatusUpdater;
let events: EventToRecord[];
/** What the runtime says; undefined when it does not answer. */
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
  test("a new node: one request, and it is ready", async () => {
    await start();
    expect(api.calls).toEqual(["create nodes"]);
    expect(ready()).toBe("True");
    expect((await updater.registered).metadata.uid).toBeDefined();
    expect(events).toEqual([]);
  });

  test("a node from before a restart: nothing to write when nothing changed", async () => {
    api.keep("nodes/node-1", buildNode(nodeFacts()));
    await start();
    expect(api.calls).toEqual(["create nodes", "get nodes"]);
  });

  test("a node from before a reboot is brought up to date, and the reboot told", async () => {
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

  test("taints are for new nodes only", async () => {
    api.keep("nodes/node-1", buildNode(nodeFacts()));
    await start({ node: { ...nodeOptions, taints: [{ key: "a", effect: "NoSchedule" }] } });
    expect((api.objects.get("nodes/node-1") as Node).spec?.taints).toBeUndefined();
  });

  test("goes on until the API server is there", async () => {
    api.failure = new Error("connect ECONNREFUSED");
    await start();
    await clock.advance(2_000);
    expect(updater.node()).toBeUndefined();
    api.failure = undefined;
    await clock.advance(4_000);
    expect(ready()).toBe("True");
  });

  test("somebody else makes the node", async () => {
    await start({ register: false });
    expect(updater.node()).toBeUndefined();
    api.keep("nodes/node-1", { ...buildNode(nodeFacts()), status: {} } as Node);
    await clock.advance(1_000);
    expect(api.calls).not.toContain("create nodes");
    expect(ready()).toBe("True");
  });
});

describe("status", () => {
  test("a runtime that comes up later: ready within moments", async () => {
    runtime = undefined;
    await start();
    expect(ready()).toBe("False");
    runtime = answer();
    await clock.advance(200);
    expect(ready()).toBe("True");
    expect(events.map(({ reason }) => reason)).toEqual(["NodeReady"]);
  });

  test("a runtime that does not come up: the API server is asked as rarely as by others", async () => {
    runtime = answer(networkDown);
    await start();
    await clock.advance(60_000);
    expect(api.calls.length).toBeLessThanOrEqual(8);
    expect(api.patches).toEqual([]);
  });

  test("nothing changes: no write but one in five minutes", async () => {
    await start();
    await clock.advance(299_000);
    expect(api.patches).toEqual([]);
    await clock.advance(11_000);
    expect(api.patches).toHaveLength(1);
    await clock.advance(300_000);
    expect(api.patches).toHaveLength(2);
  });

  test("a change is written with the next look", async () => {
    await start();
    runtime = answer(networkDown);
    await clock.advance(10_000);
    expect(ready()).toBe("False");
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ["NodeNotReady", "Node node-1 status is now: NodeNotReady"],
    ]);
  });

  test("at once when told to look", async () => {
    let shuttingDown = false;
    await start({ shuttingDown: () => shuttingDown });
    shuttingDown = true;
    updater.lookAgain();
    await clock.advance(0);
    expect(ready()).toBe("False");
  });

  test("what a controller wrote over it while the node was away is put right", async () => {
    await start();
    const node = api.objects.get("nodes/node-1") as Node;
    const conditions = node.status?.conditions?.map((each) => ({ ...each, status: "Unknown" }));
    api.keep("nodes/node-1", { ...node, status: { ...node.status, conditions } } as Node);
    await clock.advance(10_000);
    expect(ready()).toBe("True");
  });

  test("an API server that is away is tried again, not too often", async () => {
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
