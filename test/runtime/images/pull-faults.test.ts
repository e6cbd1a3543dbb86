import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import { digestOf, type FakeRegistryOptions, layerOf } from "../../support/registry/fake-registry.ts";
import { isLayer, layer, untilWritten, useFaultyRegistry } from "../../support/registry/faulty-registry.ts";
import { openImages, pullAll } from "../../support/registry/images.ts";

const registry = useFaultyRegistry();
const { expectNothingUnpacked, pull, start } = registry;

describe("stalls", () => {
  test("3542-4 a registry that accepts and does not respond makes no progress", async () => {
    const { reference } = await start({ handle: () => true });
    const pulled = pull({ reference, noProgressTimeoutMs: 500 });
    await expect(pulled).rejects.toMatchObject({
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
    const pulled = pull({ reference, noProgressTimeoutMs: 500, granularity });
    await expect(pulled).rejects.toMatchObject({ code: "noProgress" });
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

  test("3542-4 a process that was suspended reads the received data before it decides about a timeout", async () => {
    const { reference } = await start({
      handle: async (request, response) => {
        if (!isLayer(request.url)) return false;
        response.writeHead(200, { "content-length": layer.length });
        response.write(layer.subarray(0, 500_000));
        await untilWritten(500_000, registry.fixture);
        await new Promise((sent) => response.write(layer.subarray(500_000, 500_001), sent));
        // Nothing in this process runs, the pull's timer neither.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
        await untilWritten(500_001, registry.fixture);
        response.end(layer.subarray(500_001));
        return true;
      },
    });
    const reports = await pull({ reference, noProgressTimeoutMs: 1_000 });
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
      await untilWritten(start + bytes, registry.fixture);
      response.destroy();
      return true;
    };
  }

  test("are resumed where they were interrupted", async () => {
    const { reference, requests } = await start({ handle: cutAt(500_000, 3) });
    const reports = await pull({ reference });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: layer.length, total: layer.length });
    const ranges = requests.filter(({ path }) => isLayer(path)).map(({ range }) => range);
    expect(ranges).toEqual([undefined, "bytes=500000-", "bytes=1000000-", "bytes=1500000-"]);
  });

  test("restart from zero where the server ignores ranges", async () => {
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
    const reports = await pull({ reference });
    expect(reports.at(-1)).toMatchObject({ kind: "done", offset: layer.length, total: layer.length });
  });

  test("a failed pull is resumed by the next one", async () => {
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
    const failing = pull({ reference, signal: abort.signal });
    failing.catch(() => {});
    await untilWritten(500_000, registry.fixture);
    abort.abort();
    await expect(failing).rejects.toMatchObject({ code: "cancelled" });
    await pull({ reference });
    expect(requests.at(-1)?.range).toBe("bytes=500000-");
  });
});

test("too many requests: waits for Retry-After and continues", async () => {
  let refusals = 2;
  const { reference } = await start({
    handle: (_request, response) => {
      if (refusals-- <= 0) return false;
      response.writeHead(429, { "retry-after": "1" }).end();
      return true;
    },
  });
  const startedAt = Date.now();
  expect(await pull({ reference })).toHaveLength(1);
  expect(Date.now() - startedAt).toBeGreaterThan(1_900);
});

test("an image that is not in the registry is not found", async () => {
  const { host } = await start({ handle: (_request, response) => Boolean(response.writeHead(404).end()) });
  const pulled = pull({ reference: `${host}/app:v1` });
  await expect(pulled).rejects.toMatchObject({ code: "notFound" });
});

test("an unreachable registry is a network failure", async () => {
  const pulled = pull({ reference: "127.0.0.1:1/app:v1" });
  await expect(pulled).rejects.toMatchObject({ code: "network" });
});
