import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ConfigMap } from "../../src/api/meta/objects.ts";
import { StatusError } from "../../src/api/meta/status-error.ts";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { createInformer, type Informer } from "../../src/client/informers/informer.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { ownPort } from "../support/network/own-share.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { slowTest } from "../support/vitest/slow.ts";

const namespace = "default";
const selection = { namespace, labelSelector: "app=test" };
const folder = temporaryFolder();
let folders = 0;

/** Informers with a server that restarts on one port and data directory. */
describe("an informer", () => {
  let dataDir: string;
  let server: TestServer;
  let port: number;
  let client: Client;
  let stop: AbortController;
  let running: Promise<void>[];

  beforeEach(async () => {
    dataDir = join(folder, String(folders++));
    // A port that stays free while the server is stopped.
    port = await ownPort();
    server = await startTestServer({ dataDir, store: { kind: "lmdb" }, port });
    client = await connectCluster({ kubeconfig: server.kubeconfig });
    stop = new AbortController();
    running = [];
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    client.close();
    await server.close();
  });

  const start = async (options: { port?: number } = {}) => {
    server = await startTestServer({ dataDir, store: { kind: "lmdb" }, port, ...options });
  };

  /** Makes changes that the informer cannot see, through a server on another port. */
  const behindItsBack = async (act: (client: Client) => Promise<void>) => {
    await start({ port: 0 });
    const other = await connectCluster({ kubeconfig: server.kubeconfig });
    await act(other);
    other.close();
    await server.close();
  };

  async function follow(): Promise<{ informer: Informer<ConfigMap>; log: string[]; delaysMs: number[] }> {
    const delaysMs: number[] = [];
    const onLog = (_: string, fields: Record<string, unknown> = {}) =>
      void delaysMs.push(Number(fields.delayMs));
    const informer = createInformer({
      client,
      resource: "configmaps",
      ...selection,
      clock: systemClock,
      logger: { ...silentLogger, debug: onLog, warn: onLog },
      indexes: { byData: (object) => Object.values(object.data ?? {}) },
    });
    const log: string[] = [];
    informer.onChange(({ kind, object }) => void log.push(`${kind} ${object.metadata.name}`));
    running.push(informer.run(stop.signal));
    await informer.synced;
    return { informer, log, delaysMs };
  }

  test("lists existing objects and follows changes", async () => {
    await create(client, "before", { a: "x" });
    const { informer, log } = await follow();
    expect(informer.byIndex("byData", "x").map((object) => object.metadata.name)).toEqual(["before"]);
    const after = await create(client, "after", { a: "x" });
    await client.update("configmaps", { ...after, data: { a: "y" } });
    await remove(client, "before");
    await expect.poll(() => log).toEqual(["added before", "added after", "changed after", "deleted before"]);
    expect(informer.get("default/before")).toBeUndefined();
    expect(informer.byIndex("byData", "x")).toEqual([]);
    expect(informer.byIndex("byData", "y")).toHaveLength(1);
  });

  test("loses and repeats no event while the server restarts under load", async () => {
    const { informer, log } = await follow();
    const writer = writeUntil(client, 150);
    for (const after of [30, 90]) {
      await expect.poll(() => log.length, { interval: 5 }).toBeGreaterThan(after);
      await server.close();
      await start();
    }
    const created = await writer;
    await expect.poll(() => log.length).toBe(created.length);
    expect([...log].sort()).toEqual(created.map((name) => `added ${name}`).sort());
    expect([...informer.list()]).toHaveLength(created.length);
  });

  test("reconnects within about a second to a restarted server", async () => {
    const { log } = await follow();
    await server.close();
    const awayAt = Date.now();
    await delay(600);
    await start();
    const backAt = Date.now();
    await createWhenBack(client, "later");
    await expect.poll(() => log, { interval: 10 }).toEqual(["added later"]);
    // Far from the half minute that it waits at most, unless a busy machine took long to start it.
    expect(Date.now() - backAt).toBeLessThan(10_000 + 2 * (backAt - awayAt));
  });

  slowTest("retries every two seconds at least while a server is away for long", async () => {
    const { log, delaysMs } = await follow();
    await server.close();
    // After so many failures the delay no longer grows.
    await expect.poll(() => delaysMs.length).toBeGreaterThan(12);
    await start();
    const other = await connectCluster({ kubeconfig: server.kubeconfig });
    onTestFinished(() => other.close());
    await create(other, "later");
    await expect.poll(() => log, { interval: 10 }).toEqual(["added later"]);
    expect(Math.max(...delaysMs)).toBeLessThanOrEqual(2_000);
  });

  test("continues from its revision after missed events", async () => {
    await create(client, "goes");
    await create(client, "stays");
    const { log } = await follow();
    await server.close();
    await behindItsBack(async (other) => {
      await remove(other, "goes");
      await create(other, "short-lived");
      await remove(other, "short-lived");
    });
    await start();
    // The history was kept: even an object that was created and deleted in between is reported.
    await expect
      .poll(() => log.slice(2))
      .toEqual(["deleted goes", "added short-lived", "deleted short-lived"]);
  });

  test("relists when its revision is compacted, and reports the net effect", async () => {
    await create(client, "goes");
    await create(client, "changes");
    await create(client, "again");
    await create(client, "stays");
    const { informer, log } = await follow();
    log.length = 0;
    await server.close();
    await behindItsBack(async (other) => {
      await remove(other, "goes");
      await remove(other, "again");
      await create(other, "again");
      await create(other, "short-lived");
      await remove(other, "short-lived");
      const changing = await other.get("configmaps", { namespace, name: "changes" });
      await other.update("configmaps", { ...changing, data: { a: "1" } });
    });
    const store = await openLmdbStore({ directory: join(dataDir, "store") });
    await store.compact(await store.currentRevision());
    await store.close();
    await start();
    await expect
      .poll(() => [...log].sort())
      .toEqual(["added again", "changed changes", "deleted again", "deleted goes"]);
    expect(log.indexOf("deleted again")).toBeLessThan(log.indexOf("added again"));
    expect([...informer.list()].map((object) => object.metadata.name).sort()).toEqual([
      "again",
      "changes",
      "stays",
    ]);
  });

  test("reads a long list in pages", async () => {
    const count = 1_201;
    // A few at a time: that many connections at once take longer to open on a busy machine than a client waits.
    for (let i = 0; i < count; i += 10) {
      const batch = Array.from({ length: Math.min(10, count - i) }, (_, j) =>
        create(client, `many-${i + j}`),
      );
      await Promise.all(batch);
    }
    const { informer, log } = await follow();
    expect(log).toHaveLength(count);
    expect([...informer.list()]).toHaveLength(count);
  });
});

function create(client: Client, name: string, data: Record<string, string> = {}): Promise<ConfigMap> {
  const metadata = { name, namespace, labels: { app: "test" } };
  return client.create("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

function remove(client: Client, name: string): Promise<void> {
  return client.delete("configmaps", { namespace, name });
}

/** Creates objects in sequence, retrying failures. Returns their names. */
async function writeUntil(client: Client, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `written-${i}`);
  for (const name of names) await createWhenBack(client, name);
  return names;
}

async function createWhenBack(client: Client, name: string): Promise<void> {
  for (;;) {
    try {
      await create(client, name);
      return;
    } catch (error) {
      // The response was lost: the object was created before.
      if (error instanceof StatusError && error.reason === "AlreadyExists") return;
      await delay(10);
    }
  }
}
