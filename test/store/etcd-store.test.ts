import { Client, credentials } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { callUnary } from "../../src/lib/grpc-call.ts";
import { KVService, type RequestOp } from "../../src/store/etcd/generated/etcd.ts";
import { describeStoreContract } from "../../src/store/store.contract.ts";
import { eventKey, type Store } from "../../src/store/store.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { bytes, eventually, range, useEtcd } from "../support/servers/etcd-fixture.ts";
import type { EtcdServer } from "../support/servers/etcd-server.ts";

describeWithTool("etcd", "etcd store", () => {
  const { start, open, follow } = useEtcd();

  describeStoreContract("etcd", { open: async () => open(await start()) });

  describe("shared by several instances", () => {
    test("all see the events in one order", async () => {
      const server = await start();
      const [a, b] = [open(server), open(server)];
      const watches = [a, b, a, b].map((store) => follow(store, "/", 2));
      await Promise.all(
        [a, b].flatMap((store, s) => range(50).map((i) => store.create(`/${s}/${i}`, bytes("v")))),
      );
      for (const { events, revisions } of watches) {
        await eventually(revisions).toEqual(range(100).map((i) => i + 2));
        expect(events.map(eventKey)).toEqual(watches[0]?.events.map(eventKey));
      }
    });

    test("concurrent increments lose no update", async () => {
      const server = await start();
      const [a, b] = [open(server), open(server)];
      await a.create("/counter", bytes("0"));
      await Promise.all([a, b].flatMap((store) => range(4).map(() => increment(store, "/counter", 25))));
      expect((await b.get("/counter"))?.value.toString()).toBe("200");
    });

    test("prefixes separate them", async () => {
      const server = await start();
      const [a, b] = [open(server, { keyPrefix: "/a" }), open(server, { keyPrefix: "/b" })];
      const watch = follow(b, "/", 2);
      await a.create("/k", bytes("a"));
      await b.create("/k", bytes("b"));
      expect((await a.list("/")).entries).toEqual([{ key: "/k", value: bytes("a"), revision: 2 }]);
      expect((await b.list("/", { after: "/j" })).entries.map((entry) => entry.value.toString())).toEqual([
        "b",
      ]);
      await eventually(watch.revisions).toEqual([3]);
    });
  });

  describe("etcd's own limits", () => {
    test("a full quota is noSpace; reads and deletes still work", async () => {
      const store = open(await start({ args: ["--quota-backend-bytes", `${4 * 1024 * 1024}`] }));
      await store.create("/a", bytes("1"));
      const fill = async () => {
        for (const i of range(50)) await store.create(`/${i}`, Buffer.alloc(1024 * 1024));
      };
      await expect(fill()).rejects.toMatchObject({
        code: "noSpace",
        message: expect.stringContaining("space exceeded"),
      });
      expect((await store.get("/a"))?.value.toString()).toBe("1");
      expect(await store.delete("/a", { ifRevision: 2 })).toMatchObject({ kind: "deleted" });
    });

    test.each([
      { bytes: 20_000, what: "etcd refuses" },
      { bytes: 1_000_000, what: "etcd's gRPC server refuses" },
    ])("a request that $what is valueTooLarge", async ({ bytes }) => {
      const store = open(await start({ args: ["--max-request-bytes", "10000"] }));
      await expect(store.create("/a", Buffer.alloc(bytes))).rejects.toMatchObject({ code: "valueTooLarge" });
    });

    test("a missing key is not at revision 0", async () => {
      const store = open(await start());
      const conflict = { kind: "conflict", current: undefined };
      expect(await store.update("/a", bytes("1"), { ifRevision: 0 })).toEqual(conflict);
      expect(await store.delete("/a", { ifRevision: 0 })).toEqual(conflict);
    });
  });

  describe("watches", () => {
    test("a transaction of another client is delivered completely and in order, also in fragments", async () => {
      const server = await start();
      const store = open(server);
      const watch = follow(store, "/", 2);
      // With the values before, the events of one revision are larger than the messages that etcd sends.
      for (const text of ["1", "2", "3"])
        await putAll(
          server,
          range(5).map((i) => `/${i}`),
          Buffer.alloc(250_000, text),
        );
      await eventually(watch.revisions).toEqual(range(15).map((i) => 2 + Math.floor(i / 5)));
      expect(watch.events.map(eventKey)).toEqual(range(15).map((i) => `/${i % 5}`));
      expect(watch.events[14]?.previous?.value).toEqual(Buffer.alloc(250_000, "2"));
    });

    test("a message with more events than the buffer holds is not a slow reader", async () => {
      const store = open(await start());
      await Promise.all(range(500).map((i) => store.create(`/${i}`, bytes("v"))));
      let seen = 0;
      const signal = new AbortController().signal;
      for await (const _event of store.watch("/", { fromRevision: 2, signal, maxBuffered: 10 }))
        if (++seen === 500) break;
      expect(seen).toBe(500);
    });

    test("a thousand watches share a stream", async () => {
      const store = open(await start());
      const watches = range(1_000).map((i) => follow(store, `/${i}/`, 2));
      const all = follow(store, "/", 2);
      for (const batch of range(10)) {
        await Promise.all(range(100).map((i) => store.create(`/${batch * 100 + i}/key`, bytes("v"))));
      }
      await eventually(() => watches.map((watch) => watch.events.length)).toEqual(range(1_000).map(() => 1));
      await eventually(() => all.events.length).toBe(1_000);
    });
  });
});

async function increment(store: Store, key: string, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    const current = await store.get(key);
    const next = bytes(`${Number(current?.value) + 1}`);
    const result = await store.update(key, next, { ifRevision: current?.revision ?? 0 });
    if (result.kind === "updated") done++;
  }
}

/** Writes all keys at one revision, as other programs may. */
async function putAll(server: EtcdServer, keys: readonly string[], value: Buffer): Promise<void> {
  const success = keys.map(
    (key): RequestOp => ({
      request: { $case: "requestPut", value: { key: Buffer.from(key), value, prevKv: false } },
    }),
  );
  const client = new Client(new URL(server.url).host, credentials.createInsecure());
  await callUnary(client, KVService.txn, {
    request: { compare: [], success, failure: [] },
    timeoutMs: 60_000,
  });
  client.close();
}
