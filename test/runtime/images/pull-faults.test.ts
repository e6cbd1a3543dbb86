import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import {
  digestOf,
  type FakeRegistry,
  type FakeRegistryOptions,
  layerOf,
  serveBlob,
  startFakeRegistry,
} from "../../support/fake-registry.ts";
import { type ImagesFixture, openImages, pullAll } from "../../support/images.ts";

const content = randomBytes(3_000_000);
const layer = layerOf("data", content);
let fixture: ImagesFixture;
let registry: FakeRegistry | undefined;

beforeEach(async () => {
  fixture = await openImages();
});
afterEach(async () => {
  await registry?.stop();
  await fixture.remove();
});

async function start(options: Partial<FakeRegistryOptions> = {}): Promise<FakeRegistry> {
  registry = await startFakeRegistry({ layers: [layer], ...options });
  return registry;
}

const isLayer = (url: string | undefined) => url?.endsWith(digestOf(layer)) ?? false;

/** Until so much of a layer is in the file that the next try goes on from. */
async function untilWritten(bytes: number, { dataDir } = fixture, of = layer): Promise<void> {
  const file = join(dataDir, "content/partial", digestOf(of).replace("sha256:", ""));
  while (statSync(file, { throwIfNoEntry: false })?.size !== bytes) await delay(5);
}

/** Nothing of the failed pull is left but what a retry goes on from. */
function expectNothingUnpacked(): void {
  expect(readdirSync(join(fixture.dataDir, "layers"))).toEqual([]);
  expect(readdirSync(join(fixture.dataDir, "staging"))).toEqual([]);
  expect(fixture.images.list()).toEqual([]);
}

describe("stalls", () => {
  test("3542-4 a registry that accepts and never answers is no progress", async () => {
    const { reference } = await start({ handle: () => true });
    const pull = pullAll(fixture.images, { reference, noProgressTimeoutMs: 500 });
    await expect(pull).rejects.toMatchObject({
      code: "noProgress",
      message: expect.stringContaining("0.5 s"),
    });
  });

  test.each([
    ["with reports", { kind: "size", intervalBytes: 1_000 } as const],
    ["without reports", { kind: "none" } as const],
  ])("3542-4 a registry that stalls in mid-layer is no progress, %s", async (_name, granularity) => {
    const { reference } = await start({
      handle: (request, response) => {
        if (!isLayer(request.url)) return false;
        response.writeHead(200, { "content-length": layer.length });
        response.write(layer.subarray(0, 100_000));
        return true;
      },
    });
    const pull = pullAll(fixture.images, { reference, noProgressTimeoutMs: 500, granularity });
    await expect(pull).rejects.toMatchObject({ code: "noProgress" });
    expectNothingUnpacked();
  });

  test("3542-4 a trickle is progress", async () => {
    const small = layerOf("f", "x");
    const clock = createManualClock();
    const slow = await openImages({ clock });
    const { reference } = await start({
      layers: [small],
      handle: async (request, response) => {
        if (!request.url?.endsWith(digestOf(small))) return false;
        response.writeHead(200, { "content-length": small.length });
        const head = small.length - 6;
        response.write(small.subarray(0, head));
        for (let i = head; i < small.length; i++) {
          await untilWritten(i, slow, small);
          await clock.advance(300);
          response.write(small.subarray(i, i + 1));
        }
        response.end();
        return true;
      },
    });
    const reports = await pullAll(slow.images, { reference, noProgressTimeoutMs: 600 });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: small.length, total: small.length });
    await slow.remove();
  });

  test("3542-4 a process that was held up itself reads what has come, and gives up only then", async () => {
    const { reference } = await start({
      handle: async (request, response) => {
        if (!isLayer(request.url)) return false;
        response.writeHead(200, { "content-length": layer.length });
        response.write(layer.subarray(0, 500_000));
        await untilWritten(500_000);
        await new Promise((sent) => response.write(layer.subarray(500_000, 500_001), sent));
        // Nothing in this process runs, the pull's timer neither.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        await untilWritten(500_001);
        response.end(layer.subarray(500_001));
        return true;
      },
    });
    const reports = await pullAll(fixture.images, { reference, noProgressTimeoutMs: 1_000 });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: layer.length });
  });
});

describe("cut connections", () => {
  function cutAt(bytes: number, times: number): FakeRegistryOptions["handle"] {
    let cuts = 0;
    return async (request, response) => {
      if (!isLayer(request.url) || cuts >= times) return false;
      cuts++;
      const start = Number(/bytes=(\d+)/.exec(request.headers.range ?? "")?.[1] ?? 0);
      response.writeHead(start > 0 ? 206 : 200, {
        "content-length": layer.length - start,
        ...(start > 0 && { "content-range": `bytes ${start}-${layer.length - 1}/${layer.length}` }),
      });
      response.write(layer.subarray(start, start + bytes));
      // What has come and is not yet written is lost with the connection.
      await untilWritten(start + bytes);
      response.destroy();
      return true;
    };
  }

  test("are gone on from where they were cut", async () => {
    const { reference, requests } = await start({ handle: cutAt(500_000, 3) });
    const reports = await pullAll(fixture.images, { reference });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: layer.length, total: layer.length });
    const ranges = requests.filter(({ path }) => isLayer(path)).map(({ range }) => range);
    expect(ranges).toEqual([undefined, "bytes=500000-", "bytes=1000000-", "bytes=1500000-"]);
  });

  test("begin anew where the server ignores ranges", async () => {
    let first = true;
    const { reference } = await start({
      handle: (request, response) => {
        if (!isLayer(request.url)) return false;
        response.writeHead(200, { "content-length": layer.length });
        if (first) response.write(layer.subarray(0, 500_000), () => setTimeout(() => response.destroy(), 50));
        else response.end(layer);
        first = false;
        return true;
      },
    });
    const reports = await pullAll(fixture.images, { reference });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: layer.length, total: layer.length });
  });

  test("a pull that failed is gone on from by the next", async () => {
    let first = true;
    const { reference, requests } = await start({
      handle: (request, response) => {
        if (!isLayer(request.url) || !first) return false;
        first = false;
        response.writeHead(200, { "content-length": layer.length }).write(layer.subarray(0, 500_000));
        return true;
      },
    });
    const abort = new AbortController();
    const failing = pullAll(fixture.images, { reference, signal: abort.signal });
    failing.catch(() => {});
    await untilWritten(500_000);
    abort.abort();
    await expect(failing).rejects.toMatchObject({ code: "cancelled" });
    await pullAll(fixture.images, { reference });
    expect(requests.at(-1)?.range).toBe("bytes=500000-");
  });
});

describe("lies", () => {
  const wrong = `sha256:${"ab".repeat(32)}`;
  test.each([
    ["digest", { digest: wrong }],
    ["length that is too small", { size: layer.length - 1 }],
    ["length that is too big", { size: layer.length + 1 }],
    ["diff_id", { diffId: wrong }],
  ])("a wrong %s fails the pull and leaves nothing", async (_name, lie) => {
    const { reference } = await start({ lie });
    await expect(pullAll(fixture.images, { reference })).rejects.toMatchObject({ code: "digestMismatch" });
    expectNothingUnpacked();
  });

  test("a layer longer than told is cut short when no length was told", async () => {
    const { reference } = await start({
      lie: { size: 1_000 },
      handle: (request, response) => {
        if (!isLayer(request.url)) return false;
        response.write(layer);
        response.end();
        return true;
      },
    });
    await expect(pullAll(fixture.images, { reference })).rejects.toMatchObject({ code: "digestMismatch" });
  });

  test("a manifest that is not the one asked for by digest", async () => {
    const { host } = await start();
    const pull = pullAll(fixture.images, { reference: `${host}/app@${wrong}` });
    await expect(pull).rejects.toMatchObject({ code: "digestMismatch" });
  });
});

describe("authorization", () => {
  const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;

  test("basic", async () => {
    const { reference } = await start({
      handle: (request, response) => {
        if (request.headers.authorization === basic) return false;
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return true;
      },
    });
    await expect(pullAll(fixture.images, { reference })).rejects.toMatchObject({ code: "unauthorized" });
    const auth = { username: "me", password: "secret" };
    expect(await pullAll(fixture.images, { reference, auth })).toHaveLength(1);
  });

  test("basic, as docker's configuration file has it, also when it was written since the start", async () => {
    const { reference, host } = await start({
      handle: (request, response) => {
        if (request.headers.authorization === basic) return false;
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return true;
      },
    });
    await expect(pullAll(fixture.images, { reference })).rejects.toMatchObject({ code: "unauthorized" });
    const auths = { [`http://${host}/v2/`]: { auth: basic.slice("Basic ".length) } };
    await writeFile(join(fixture.dataDir, "no-docker-config.json"), JSON.stringify({ auths }));
    expect(await pullAll(fixture.images, { reference })).toHaveLength(1);
  });

  test.each([
    ["a password", { auth: Buffer.from("me:secret").toString("base64") }, "GET"],
    ["an identity token", { identityToken: "idt" }, "POST"],
  ])("a token for %s", async (_name, auth, method) => {
    let host = "";
    const asked: string[] = [];
    const { reference, ...fake } = await start({
      handle: async (request, response) => {
        if (request.url?.startsWith("/token")) {
          let body = "";
          for await (const part of request) body += part;
          asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""} ${body}`);
          response.end('{"token":"t0k"}');
          return true;
        }
        if (request.headers.authorization === "Bearer t0k") return false;
        const realm = `http://${host}/token`;
        response.writeHead(401, { "www-authenticate": `Bearer realm="${realm}",service="fake"` }).end();
        return true;
      },
    });
    host = fake.host;
    expect(await pullAll(fixture.images, { reference, auth })).toHaveLength(1);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(method);
    expect(asked[0]).toContain("service=fake");
    expect(asked[0]).toContain("repository%3Aapp%3Apull");
    expect(asked[0]).toContain(method === "GET" ? basic : "refresh_token=idt");
  });

  test("a redirect to another host is followed without the credentials", async () => {
    const seen: (string | undefined)[] = [];
    const store = await startFakeRegistry({
      layers: [layer],
      handle: (request, response) => {
        seen.push(request.headers.authorization);
        serveBlob(request, response, layer);
        return true;
      },
    });
    try {
      const { reference } = await start({
        handle: (request, response) => {
          if (request.headers.authorization !== basic) {
            response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
            return true;
          }
          if (!isLayer(request.url)) return false;
          response.writeHead(307, { location: `http://${store.host}/somewhere` }).end();
          return true;
        },
      });
      await pullAll(fixture.images, { reference, auth: { username: "me", password: "secret" } });
      expect(seen).toEqual([undefined]);
    } finally {
      await store.stop();
    }
  });
});

test("too many requests: waits as asked and goes on", async () => {
  let refusals = 2;
  const { reference } = await start({
    handle: (_request, response) => {
      if (refusals-- <= 0) return false;
      response.writeHead(429, { "retry-after": "1" }).end();
      return true;
    },
  });
  const startedAt = Date.now();
  expect(await pullAll(fixture.images, { reference })).toHaveLength(1);
  expect(Date.now() - startedAt).toBeGreaterThan(1_900);
});

test("what the registry does not have is not found", async () => {
  const { host } = await start({ handle: (_request, response) => Boolean(response.writeHead(404).end()) });
  const pull = pullAll(fixture.images, { reference: `${host}/app:v1` });
  await expect(pull).rejects.toMatchObject({ code: "notFound" });
});

test("a registry that is not there is a network failure", async () => {
  const pull = pullAll(fixture.images, { reference: "127.0.0.1:1/app:v1" });
  await expect(pull).rejects.toMatchObject({ code: "network" });
});
