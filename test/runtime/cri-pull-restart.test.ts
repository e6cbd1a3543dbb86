import { randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { status as codes } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  PullImageRequest,
  PullImageWithProgressRequest,
} from "../../src/cri/generated/cri.ts";
import { type CriRuntime, startCriRuntime } from "../support/cri/cri-runtime.ts";
import { describeWithTool } from "../support/programs/tools.ts";
import {
  digestOf,
  type FakeRegistry,
  type FakeRegistryOptions,
  layerOf,
  startFakeRegistry,
} from "../support/registry/fake-registry.ts";
import { untilWritten } from "../support/registry/faulty-registry.ts";

type Handler = NonNullable<FakeRegistryOptions["handle"]>;

/** Long enough that a busy machine serves a restarted transfer within the second half. */
const timeoutSeconds = 4;
const third = 1_000_000;
let runtime: CriRuntime;
let layer: Buffer;
const registries: FakeRegistry[] = [];

describeWithTool("busybox", "restarts of silent pulls over CRI", () => {
  beforeAll(async () => {
    runtime = await startCriRuntime({ driver: "host" });
  });
  afterAll(() => runtime?.stop());
  beforeEach(() => {
    layer = layerOf("data", randomBytes(3 * third));
  });
  afterEach(async () => {
    for (const registry of registries.splice(0)) await registry.stop();
  });

  async function start(options: Partial<FakeRegistryOptions> = {}): Promise<FakeRegistry> {
    const registry = await startFakeRegistry({ layers: [layer], ...options });
    registries.push(registry);
    return registry;
  }

  function pull(image: string, options: { timeout?: number; signal?: AbortSignal } = {}): Promise<string> {
    const { timeout = 0, signal } = options;
    const request = PullImageRequest.fromPartial({ image: { image }, noProgressTimeout: { value: timeout } });
    const pulled = runtime.client.images.pullImage(request, { signal }).then(({ imageRef }) => imageRef);
    pulled.catch(() => {});
    return pulled;
  }

  const isLayer = (path: string | undefined) => path?.endsWith(digestOf(layer)) ?? false;
  const layerRanges = ({ requests }: FakeRegistry) =>
    requests.filter(({ path }) => isLayer(path)).map(({ range }) => range);
  const untilPartlyWritten = () => untilWritten(third, { dataDir: join(runtime.dataDir, "images") }, layer);

  /** Sends the first third of the layer and then nothing while `isSilent` is true. */
  function sendThird(isSilent: (request: number) => boolean): Handler {
    let requests = 0;
    return (request, response) => {
      if (!isLayer(request.url) || !isSilent(++requests)) return false;
      if (request.headers.range === undefined) {
        response.writeHead(200, { "content-length": layer.length });
        response.write(layer.subarray(0, third));
      }
      return true;
    };
  }
  const sendThirdOnce = () => sendThird((request) => request === 1);

  /** A pull without timeout that hangs after a third of the layer. */
  async function hang(registry: FakeRegistry, signal?: AbortSignal): Promise<{ pulled: Promise<string> }> {
    const pulled = pull(registry.reference, { signal });
    await untilPartlyWritten();
    return { pulled };
  }

  test("3542-13 a hung pull is restarted for callers of the image and of an image that shares a layer", async () => {
    const registry = await start({ handle: sendThirdOnce() });
    const other = await start({ layers: [layer, layerOf("more", randomBytes(1_000))] });
    const { pulled } = await hang(registry);
    const timeout = timeoutSeconds;
    const joined = await Promise.all([
      pull(registry.reference, { timeout }),
      pull(`${registry.host}/app:v2`, { timeout }),
      pull(other.reference, { timeout }),
    ]);
    expect(joined.slice(0, 2)).toEqual([await pulled, await pulled]);
    expect([...layerRanges(registry), ...layerRanges(other)]).toEqual([undefined, `bytes=${third}-`]);
  });

  test("3542-13 a caller that joins a silent registry fails after its own timeout and not before", async () => {
    let answers = false;
    const registry = await start({ handle: sendThird(() => !answers) });
    const { pulled } = await hang(registry);
    // By now the registry has been silent for longer than the timeout of the next caller.
    await delay(2_500);
    const startedAt = Date.now();
    await expect(pull(registry.reference, { timeout: 2 })).rejects.toMatchObject({
      code: codes.DEADLINE_EXCEEDED,
      details: expect.stringContaining("sent nothing for 2 s"),
    });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(1_990);
    expect(layerRanges(registry)).toHaveLength(2);
    answers = true;
    expect(await pull(registry.reference, { timeout: timeoutSeconds })).toBe(await pulled);
  });

  const tokenPath = "/token";
  test.each([
    ["a manifest", (path: string, hasToken: boolean) => path.includes("/manifests/") && hasToken],
    ["a token", (path: string) => path.startsWith(tokenPath)],
    ["a configuration", (path: string) => path.includes("/blobs/") && !isLayer(path)],
    ["the head of a layer", (path: string) => isLayer(path)],
  ])("3542-13 a registry that does not answer one request for %s is asked again", async (_name, isSilent) => {
    let asked = 0;
    const registry = await start({
      handle(request, response) {
        const path = request.url ?? "";
        const hasToken = request.headers.authorization !== undefined;
        if (isSilent(path, hasToken) && ++asked === 1) return true;
        if (path.startsWith(tokenPath)) {
          response.end(JSON.stringify({ token: "t" }));
          return true;
        }
        if (hasToken) return false;
        const realm = `Bearer realm="http://${request.headers.host}${tokenPath}"`;
        response.writeHead(401, { "www-authenticate": realm }).end();
        return true;
      },
    });
    const first = pull(registry.reference);
    await expect.poll(() => asked).toBe(1);
    const second = pull(registry.reference, { timeout: timeoutSeconds });
    expect(await second).toBe(await first);
    expect(asked).toBe(2);
  });

  test("3542-13 a registry that answers late is not cut off by the restart", async () => {
    let asked = 0;
    let onSecond = () => {};
    const second = new Promise<void>((resolve) => {
      onSecond = resolve;
    });
    const registry = await start({
      async handle(request) {
        if (!isLayer(request.url)) return false;
        if (++asked > 1) {
          onSecond();
          return true;
        }
        await second;
        return false;
      },
    });
    const first = pull(registry.reference);
    await expect.poll(() => asked).toBe(1);
    expect(await pull(registry.reference, { timeout: timeoutSeconds })).toBe(await first);
    expect(asked).toBe(2);
  });

  test.each([
    ["the whole layer is verified again", (whole: Buffer) => whole, true],
    [
      "a damaged layer is refused",
      (whole: Buffer) => Buffer.concat([Buffer.alloc(third), whole.subarray(third)]),
      false,
    ],
  ])("3542-13 a registry without ranges starts over on a restart, and %s", async (_name, again, succeeds) => {
    let asked = 0;
    const part = 2 * third + 500_000;
    const registry = await start({
      handle(request, response) {
        if (!isLayer(request.url)) return false;
        response.writeHead(200, { "content-length": layer.length });
        if (++asked > 1) response.end(again(layer));
        // What the first attempt sends is damaged where the second is not, and the other way round.
        else
          response.write(
            Buffer.concat([
              succeeds ? Buffer.alloc(third) : layer.subarray(0, third),
              layer.subarray(third, part),
            ]),
          );
        return true;
      },
    });
    const first = pull(registry.reference);
    await untilWritten(part, { dataDir: join(runtime.dataDir, "images") }, layer);
    const second = pull(registry.reference, { timeout: timeoutSeconds });
    for (const pulled of [first, second]) {
      if (succeeds) expect(await pulled).toMatch(/^sha256:/);
      else await expect(pulled).rejects.toThrow(/digest/);
    }
    expect(asked).toBe(2);
  });

  test("3542-13 the caller that started a hung pull can cancel it, and the one that joined continues", async () => {
    const registry = await start({ handle: sendThirdOnce() });
    const abort = new AbortController();
    const { pulled } = await hang(registry, abort.signal);
    const request = PullImageWithProgressRequest.fromPartial({
      request: { image: { image: registry.reference } },
      granularityType: Granularity.TIME,
      interval: { value: 1n },
      noProgressTimeout: { value: timeoutSeconds },
    });
    let last: string | undefined;
    for await (const { imageRef } of runtime.client.images.pullImageWithProgress(request)) {
      // The first report shows that the caller has joined.
      if (last === undefined) abort.abort(new Error("cancelled by the test"));
      last = imageRef;
    }
    await expect(pulled).rejects.toThrow("cancelled by the test");
    expect(last).toMatch(/^sha256:/);
    expect(layerRanges(registry)).toEqual([undefined, `bytes=${third}-`]);
  });

  test("3542-13 a layer of a registry that stays silent comes from the registry of the caller that joined", async () => {
    const silent = await start({ handle: sendThird(() => true) });
    const other = await start({ layers: [layer, layerOf("more", randomBytes(1_000))] });
    const { pulled } = await hang(silent);
    expect(await pull(other.reference, { timeout: timeoutSeconds })).toMatch(/^sha256:/);
    expect(await pulled).toMatch(/^sha256:/);
    expect(layerRanges(other)).toEqual([`bytes=${third}-`]);
  });

  test.each<[string, (response: ServerResponse) => void, string | undefined]>([
    ["lacks the layer", (response) => response.writeHead(404).end(), `bytes=${third}-`],
    [
      "sends a wrong length",
      (response) => response.writeHead(200, { "content-length": 3 }).end("abc"),
      undefined,
    ],
    ["sends wrong data", (response) => response.writeHead(200).end(Buffer.alloc(layer.length)), undefined],
  ])(
    "3542-13 a caller whose registry %s does not fail the pull that it joined",
    async (_name, answer, range) => {
      const registry = await start({ handle: sendThirdOnce() });
      const bad = await start({
        layers: [layer, layerOf("more", randomBytes(1_000))],
        handle(request, response) {
          if (!isLayer(request.url)) return false;
          answer(response);
          return true;
        },
      });
      const { pulled } = await hang(registry);
      expect(await pull(bad.reference, { timeout: timeoutSeconds })).toMatch(/^sha256:/);
      expect(await pulled).toMatch(/^sha256:/);
      expect(layerRanges(bad)).toEqual([`bytes=${third}-`]);
      expect(layerRanges(registry)).toEqual([undefined, range]);
    },
  );

  test("3542-13 a hung pull of an image with a wrong layer digest does not delay another image", async () => {
    const lying = await start({
      handle: sendThird(() => true),
      lie: { diffId: digestOf(Buffer.from("other")) },
    });
    const honest = await start();
    const { pulled } = await hang(lying);
    expect(await pull(honest.reference, { timeout: timeoutSeconds })).toMatch(/^sha256:/);
    await expect(pulled).rejects.toThrow(/the image's configuration says/);
  });
});
