import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { eventKey, isStoreError } from "../../src/store/store.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import { bytes, eventually, range, useEtcd } from "../support/servers/etcd-fixture.ts";

describeWithTool("etcd", "etcd store with etcd away", () => {
  const { start, startCluster, open, follow } = useEtcd();

  test("killed and restarted during writes: no acknowledged write is lost, and no watch has a gap or a repeat", async () => {
    const server = await start();
    const store = open(server);
    const all = follow(store, "/", 2);
    const some = follow(store, "/1/", 2);
    const elsewhere = follow(open(server), "/", 2);
    const acknowledged: number[] = [];
    let inDoubt = 0;
    let writing = true;
    const writers = range(3).map(async (w) => {
      for (let i = 0; writing; i++) {
        try {
          const result = await store.create(`/${w}/${i}`, bytes("v"));
          if (result.kind === "created") acknowledged.push(result.revision);
        } catch (error) {
          if (!isStoreError(error, "unavailable")) throw error;
          inDoubt++;
        }
      }
    });
    const writesGoOn = (count = acknowledged.length + 30) =>
      eventually(() => acknowledged.length).toBeGreaterThan(count);
    for (const _round of range(3)) {
      await writesGoOn();
      await server.kill();
      await delay(200);
      await server.restart();
    }
    await writesGoOn();
    writing = false;
    await Promise.all(writers);

    const last = await store.currentRevision();
    await eventually(all.revisions).toEqual(range(last - 1).map((i) => i + 2));
    await eventually(elsewhere.revisions).toEqual(all.revisions());
    await eventually(() => some.events).toEqual(
      all.events.filter((event) => eventKey(event).startsWith("/1/")),
    );
    // A write in doubt that did happen is in the store without an acknowledgement; no other difference is allowed.
    const stored = new Set(all.revisions());
    expect(acknowledged.filter((revision) => !stored.has(revision))).toEqual([]);
    expect(stored.size - acknowledged.length).toBeLessThanOrEqual(inDoubt);
    // While etcd is away writes wait instead of failing.
    expect(inDoubt).toBeLessThan(50);
  });

  test("frozen: calls time out, and the outcome of a write is reported as unknown", async () => {
    const server = await start();
    await open(server).create("/a", bytes("1"));
    const store = open(server, { timeoutMs: 2_000 });
    // On the connection that is to fall silent.
    await eventually(() => store.get("/a")).toMatchObject({ key: "/a" });
    await server.freeze();
    const refused = (says: string) => ({ code: "unavailable", message: expect.stringContaining(says) });
    await Promise.all([
      expect(store.update("/a", bytes("2"), { ifRevision: 2 })).rejects.toMatchObject(
        refused("may or may not"),
      ),
      expect(store.get("/a")).rejects.toMatchObject(refused(server.url)),
    ]);
    server.thaw();
    await eventually(() => store.get("/a")).toMatchObject({ key: "/a" });
  });

  test("back within the timeout: waiting calls succeed", async () => {
    const server = await start();
    await open(server).create("/a", bytes("1"));
    await server.kill();
    const store = open(server, { timeoutMs: 60_000 });
    const waiting = Promise.all([store.get("/a"), store.create("/b", bytes("1"))]);
    await delay(200);
    await server.restart();
    expect(await waiting).toMatchObject([{ key: "/a" }, { kind: "created" }]);
  });

  test("close ends calls and watches that wait for it", async () => {
    const store = open(["http://127.0.0.1:1"]);
    const watch = expect(follow(store, "/", 2).ended).rejects.toMatchObject({ code: "closed" });
    const read = expect(store.get("/a")).rejects.toMatchObject({ code: "closed" });
    await delay(50);
    await store.close();
    await Promise.all([watch, read]);
  });

  test("a watch with a progress notification survives the compaction of revisions that it did not need", async () => {
    const server = await start({ args: ["--experimental-watch-progress-notify-interval", "100ms"] });
    const store = open(server);
    const watch = follow(store, "/quiet/", 2);
    for (const i of range(20)) await store.create(`/loud/${i}`, bytes("v"));
    // Of the progress nothing shows out here: many times as long as the interval, in which etcd is awake.
    for (const _look of range(20)) {
      await delay(100);
      await store.currentRevision();
    }
    await store.compact(20);
    await server.kill();
    await server.restart();
    await store.create("/quiet/a", bytes("v"));
    await eventually(watch.revisions).toEqual([22]);
  });

  describe("several endpoints", () => {
    test("skips an unavailable endpoint at the start", async () => {
      const server = await start();
      const store = open(["http://127.0.0.1:1", "http://no-such-host.invalid:2379", server.url]);
      const watch = follow(store, "/", 2);
      await store.create("/a", bytes("1"));
      await eventually(watch.revisions).toEqual([2]);
    });

    test("host names work", async () => {
      const server = await start();
      const store = open([server.url.replace("127.0.0.1", "localhost")]);
      expect(await store.currentRevision()).toBe(1);
    });

    test("calls and watches move from a killed member to another; without a majority all calls fail", async () => {
      const servers = await startCluster(3);
      const urls = servers.map((server) => server.url);
      // An election takes its time on a busy machine.
      const [store, impatient] = [open(urls, { timeoutMs: 30_000 }), open(urls, { timeoutMs: 2_000 })];
      const watch = follow(store, "/", 2);
      // While members choose their leader it is in doubt whether a write has happened; if so, the next try finds it.
      const create = async (key: string) => {
        const kind = async () => (await store.create(key, bytes("1"))).kind;
        await eventually(kind).toMatch(/^(created|exists)$/);
      };
      await create("/a");
      await eventually(watch.revisions).toEqual([2]);

      await servers[0]?.kill();
      expect(await store.get("/a")).toMatchObject({ revision: 2 });
      await create("/b");
      await eventually(() => watch.events.map(eventKey)).toEqual(["/a", "/b"]);

      await servers[1]?.kill();
      await expect(impatient.get("/a")).rejects.toMatchObject({ code: "unavailable" });
      await servers[0]?.restart();
      await create("/c");
      await eventually(() => watch.events.map(eventKey)).toEqual(["/a", "/b", "/c"]);
    });

    test("all unavailable: the error names each endpoint with its reason", async () => {
      const store = open(["http://127.0.0.1:1", "http://localhost:2"], { timeoutMs: 6_000 });
      await expect(store.currentRevision()).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(
          /http:\/\/127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1; http:\/\/localhost:2: connect ECONNREFUSED/,
        ),
      });
    });
  });

  describeWithTool("openssl", "TLS", () => {
    test("works with the client certificate that etcd requires", async () => {
      const server = await start({ tls: true });
      const store = open(server, { tls: server.tls });
      const watch = follow(store, "/", 2);
      await store.create("/a", bytes("1"));
      await eventually(watch.revisions).toEqual([2]);
    });

    test("mismatching certificates are rejected with a clear error", async () => {
      const server = await start({ tls: true });
      const cases = [
        {
          url: server.url,
          tls: { ca: server.tls?.ca },
          says: /rejects our client certificate, or requires one/,
        },
        { url: server.url, tls: {}, says: /unable to verify the first certificate/ },
        {
          url: server.url.replace("127.0.0.1", "localhost"),
          tls: server.tls,
          says: /does not match certificate/,
        },
        { url: server.url.replace("https", "http"), tls: server.tls, says: /http:\/\/127.0.0.1:\d+: / },
      ];
      const refused = cases.map(({ url, tls, says }) =>
        expect(open([url], { tls, timeoutMs: 8_000 }).get("/a")).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringMatching(says),
        }),
      );
      await Promise.all(refused);
    });
  });
});
