import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { KubeObject } from "../../src/api/meta/objects.ts";
import type { Status } from "../../src/api/meta/status-error.ts";
import { createManualClock } from "../../src/lib/manual-clock.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { openWatch } from "../support/servers/open-watch.ts";

interface List {
  kind: string;
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  items: KubeObject[];
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function makeNamespace(name: string): Promise<string> {
  await server.json("POST", "/api/v1/namespaces", { metadata: { name } });
  return `/api/v1/namespaces/${name}/secrets`;
}

function create(path: string, name: string, labels: Record<string, string> = {}): Promise<KubeObject> {
  return server.json("POST", path, { metadata: { name, labels } });
}

const names = (list: List) => list.items.map((item) => item.metadata.name);

describe("list", () => {
  test("returns one namespace or all, sorted by name", async () => {
    const a = await makeNamespace("list-a");
    const b = await makeNamespace("list-b");
    for (const name of ["z", "a", "m"]) await create(a, name);
    await create(b, "other");
    const list = await server.json<List>("GET", a);
    expect(list.kind).toBe("SecretList");
    expect(names(list)).toEqual(["a", "m", "z"]);
    const all = await server.json<List>("GET", "/api/v1/secrets");
    expect(names(all)).toEqual(expect.arrayContaining(["a", "m", "z", "other"]));
  });

  test("all pages have one revision, regardless of writes in between", async () => {
    const path = await makeNamespace("pages");
    for (let i = 0; i < 7; i++) await create(path, `c${i}`);
    const first = await server.json<List>("GET", `${path}?limit=3`);
    expect(names(first)).toEqual(["c0", "c1", "c2"]);
    expect(first.metadata.remainingItemCount).toBe(4);

    await server.json("DELETE", `${path}/c4`);
    await create(path, "c33");
    const second = await server.json<List>("GET", `${path}?limit=3&continue=${first.metadata.continue}`);
    const third = await server.json<List>("GET", `${path}?limit=3&continue=${second.metadata.continue}`);
    expect([...names(second), ...names(third)]).toEqual(["c3", "c4", "c5", "c6"]);
    expect(new Set([first, second, third].map((list) => list.metadata.resourceVersion)).size).toBe(1);
    expect(third.metadata.continue).toBeUndefined();
  });

  test("a limit counts what the selector matches", async () => {
    const path = await makeNamespace("limited");
    for (let i = 0; i < 6; i++) await create(path, `c${i}`, { parity: i % 2 ? "odd" : "even" });
    const first = await server.json<List>("GET", `${path}?limit=2&labelSelector=parity%3Dodd`);
    expect(names(first)).toEqual(["c1", "c3"]);
    expect(first.metadata.remainingItemCount).toBeUndefined();
    const rest = await server.json<List>(
      "GET",
      `${path}?limit=2&labelSelector=parity%3Dodd&continue=${first.metadata.continue}`,
    );
    expect(names(rest)).toEqual(["c5"]);
  });

  test.each([
    ["labelSelector=app", ["labelled"]],
    ["labelSelector=app+in+(x,y),tier!%3Dweb", ["labelled"]],
    ["labelSelector=!app", ["plain"]],
    ["fieldSelector=metadata.name%3Dplain", ["plain"]],
    ["fieldSelector=metadata.name!%3Dplain,metadata.namespace%3Dselected", ["labelled"]],
  ])("selector %s", async (query, expected) => {
    const path = "/api/v1/namespaces/selected/secrets";
    if ((await server.call("GET", "/api/v1/namespaces/selected")).status === 404) {
      await makeNamespace("selected");
      await create(path, "labelled", { app: "x" });
      await create(path, "plain");
    }
    const found = names(await server.json<List>("GET", `${path}?${query}`));
    expect(found).toEqual(expected);
  });

  test("resourceVersion: Exact returns the past, NotOlderThan a future version times out, and invalid values are rejected", async () => {
    const path = await makeNamespace("versions");
    const before = await create(path, "first");
    await create(path, "second");
    const version = before.metadata.resourceVersion;
    expect(
      names(await server.json<List>("GET", `${path}?resourceVersion=${version}&resourceVersionMatch=Exact`)),
    ).toEqual(["first"]);
    expect(
      names(
        await server.json<List>(
          "GET",
          `${path}?resourceVersion=${version}&resourceVersionMatch=NotOlderThan`,
        ),
      ),
    ).toHaveLength(2);
    expect(names(await server.json<List>("GET", `${path}?resourceVersion=0`))).toHaveLength(2);
    const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":99999999,"start":"a"}').toString("base64url");
    const ofTheFuture = ["resourceVersion=99999999", `continue=${token}`];
    for (const future of await Promise.all(
      ofTheFuture.map((query) => server.call("GET", `${path}?${query}`)),
    )) {
      expect(future.status).toBe(504);
      expect(future.json<Status>().message).toContain("Too large resource version");
    }
    for (const [bad, code] of [
      ["resourceVersion=x", 400],
      ["limit=x", 400],
      ["continue=nonsense", 400],
      ["resourceVersionMatch=Exact", 422],
      ["resourceVersion=1&resourceVersionMatch=Nope", 422],
    ] as const) {
      expect((await server.call("GET", `${path}?${bad}`)).status, bad).toBe(code);
    }
  });

  test("rejects invalid selectors and unknown fields", async () => {
    for (const bad of [
      "labelSelector=a%20b%20c",
      "fieldSelector=spec.nope%3Dx",
      "labelSelector=a%20in%20(",
      "fieldSelector=metadata.name",
    ]) {
      expect((await server.call("GET", `/api/v1/pods?${bad}`)).status, bad).toBe(400);
    }
  });
});

describe("watch", () => {
  test("sends existing objects first, then changes as they happen", async () => {
    const path = await makeNamespace("watched");
    await create(path, "old");
    const watch = await openWatch(server, `${path}?watch=true`);
    await watch.until(1);
    await create(path, "new");
    await server.json("PUT", `${path}/new`, { metadata: { name: "new" }, data: { a: "MQ==" } });
    await server.json("DELETE", `${path}/new`);
    const events = await watch.until(4);
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      "ADDED old",
      "ADDED new",
      "MODIFIED new",
      "DELETED new",
    ]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(versions).size).toBe(4);
    watch.close();
  });

  test("from a version replays later changes", async () => {
    const path = await makeNamespace("replayed");
    await create(path, "a");
    const list = await server.json<List>("GET", path);
    await create(path, "b");
    await server.json("DELETE", `${path}/a`);
    const watch = await openWatch(server, `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    const events = await watch.until(2);
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
      "ADDED b",
      "DELETED a",
    ]);
    watch.close();
  });

  test("replays a long history completely", async () => {
    const path = await makeNamespace("long");
    const list = await server.json<List>("GET", path);
    const count = 2_500;
    for (let start = 0; start < count; start += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => create(path, `c${start + i}`)));
    }
    const watch = await openWatch(server, `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    const events = await watch.until(count);
    expect(new Set(events.map(({ object }) => object.metadata.name)).size).toBe(count);
    watch.close();
  });

  test("objects enter and leave a selector as ADDED and DELETED", async () => {
    const path = await makeNamespace("entering");
    const watch = await openWatch(server, `${path}?watch=true&labelSelector=on`);
    await create(path, "x");
    await server.json("PUT", `${path}/x`, { metadata: { name: "x", labels: { on: "" } } });
    await server.json("PUT", `${path}/x`, { metadata: { name: "x", labels: { on: "", more: "" } } });
    await server.json("PUT", `${path}/x`, { metadata: { name: "x" } });
    expect((await watch.until(3)).map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    watch.close();
  });

  test("pods of one node only", async () => {
    const pods = "/api/v1/namespaces/default/pods";
    const watch = await openWatch(server, "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dnode-7");
    for (const nodeName of ["node-6", "node-7"]) {
      await server.json("POST", pods, {
        metadata: { name: `on-${nodeName}` },
        spec: { nodeName, containers: [{ name: "c", image: "i" }] },
      });
    }
    expect((await watch.until(1)).map(({ object }) => object.metadata.name)).toEqual(["on-node-7"]);
    watch.close();
  });

  test("sendInitialEvents ends the initial state with a bookmark", async () => {
    const path = await makeNamespace("initial");
    await create(path, "a");
    const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const watch = await openWatch(server, `${path}?${query}`);
    const events = await watch.until(2);
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
    expect(events[1]?.object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
    watch.close();
  });

  test("timeoutSeconds ends it", async () => {
    const path = await makeNamespace("timed");
    const watch = await openWatch(server, `${path}?watch=true&timeoutSeconds=1`);
    await watch.ended;
  });

  test("timeoutSeconds ends it on time, without a timer of its own until then", async () => {
    const clock = createManualClock(Date.now());
    const timed = await startTestServer({ clock });
    onTestFinished(() => timed.close());
    const path = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=600";
    const idle = clock.sleeping();
    const watch = await openWatch(timed, path);
    let isOver = false;
    void watch.ended.then(() => {
      isOver = true;
    });
    expect(clock.sleeping()).toBe(idle);
    await clock.advance(599_000);
    expect(clock.sleeping()).toBe(idle + 1);
    expect(isOver).toBe(false);
    await clock.advance(1_000);
    await watch.ended;
  });

  test("a timeout longer than any timer does not end it at once", async () => {
    const path = await makeNamespace("patient");
    const watch = await openWatch(server, `${path}?watch=true&timeoutSeconds=9999999`);
    await create(path, "x");
    expect((await watch.until(1)).map(({ type }) => type)).toEqual(["ADDED"]);
    watch.close();
  });

  test("as a table", async () => {
    const path = await makeNamespace("tabled");
    const watch = await openWatch(server, `${path}?watch=true`, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
    });
    await create(path, "x");
    await create(path, "y");
    const [first, second] = (await watch.until(2)) as unknown as {
      object: { kind: string; columnDefinitions: unknown; rows: { cells: unknown[] }[] };
    }[];
    expect(first?.object).toMatchObject({
      kind: "Table",
      rows: [{ cells: ["x", "Opaque", 0, expect.any(String)] }],
    });
    expect(first?.object.columnDefinitions).toHaveLength(4);
    expect(second?.object.columnDefinitions).toBeNull();
    watch.close();
  });
});
