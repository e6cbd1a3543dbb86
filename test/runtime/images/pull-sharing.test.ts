import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { createManualClock } from "../../../src/lib/manual-clock.ts";
import type { PullReport } from "../../../src/runtime/images/images.ts";
import {
  digestOf,
  type FakeRegistry,
  type FakeRegistryOptions,
  layerOf,
  startFakeRegistry,
} from "../../support/registry/fake-registry.ts";
import { type ImagesFixture, openImages, pullAll } from "../../support/registry/images.ts";

const layers = ["a", "b"].map((name) => layerOf(name, randomBytes(2_000_000)));
const sizes = layers.map((layer) => layer.length);
const total = sizes.reduce((sum, size) => sum + size, 0);
const registries: FakeRegistry[] = [];
let fixture: ImagesFixture;

beforeEach(async () => {
  fixture = await openImages();
});
afterEach(async () => {
  for (const registry of registries.splice(0)) await registry.stop();
  await fixture.remove();
});

async function start(options: Partial<FakeRegistryOptions> = {}): Promise<FakeRegistry> {
  const registry = await startFakeRegistry({ layers, ...options });
  registries.push(registry);
  return registry;
}

/** Blobs in ten pieces, a pause before each. */
function slowly(
  pauseMs: number,
  { onCut = () => {}, pause = delay }: { onCut?: () => void; pause?: (ms: number) => Promise<unknown> } = {},
): FakeRegistryOptions["handle"] {
  return async (request, response) => {
    const layer = layers.find((bytes) => request.url?.endsWith(digestOf(bytes)));
    if (!layer) return false;
    response.on("close", () => response.writableFinished || onCut());
    response.writeHead(200, { "content-length": layer.length });
    const piece = Math.ceil(layer.length / 10);
    for (let at = 0; at < layer.length && !response.destroyed; at += piece) {
      await pause(pauseMs);
      response.write(layer.subarray(at, at + piece));
    }
    response.end();
    return true;
  };
}

const blobRequests = (registry: FakeRegistry) =>
  registry.requests.filter(({ path }) => layers.some((layer) => path.endsWith(digestOf(layer))));
const progressOf = (reports: readonly PullReport[]) => reports.filter(({ kind }) => kind === "progress");

test("3542-2 size granularity reports each interval of bytes, and the last report repeats the total", async () => {
  const { reference } = await start({ handle: slowly(10) });
  const reports = await pullAll(fixture.images, {
    reference,
    granularity: { kind: "size", intervalBytes: 1_000_000 },
  });
  const offsets = reports.map(({ offset }) => offset);
  expect(progressOf(reports).length).toBeGreaterThanOrEqual(3);
  expect(progressOf(reports).length).toBeLessThanOrEqual(4);
  for (let i = 1; i < offsets.length - 1; i++) {
    expect((offsets[i] ?? 0) - (offsets[i - 1] ?? 0)).toBeGreaterThanOrEqual(1_000_000);
  }
  expect(reports.at(-1)).toMatchObject({ kind: "done", offset: total, total });
});

test("3542-2 time granularity reports each interval, none reports the end alone", async () => {
  const clock = createManualClock();
  const { images, remove } = await openImages({ clock });
  // Two layers of ten pieces each, one pause after the other: 1.2 s in all.
  let paused = Promise.resolve();
  const pause = (ms: number) => {
    paused = paused.then(() => clock.advance(ms));
    return paused;
  };
  const { reference } = await start({ handle: slowly(60, { pause }) });
  const [timed, silent] = await Promise.all([
    pullAll(images, { reference, granularity: { kind: "time", intervalMs: 100 } }),
    pullAll(images, { reference, granularity: { kind: "none" } }),
  ]);
  expect(progressOf(timed)).toHaveLength(12);
  expect(silent.map(({ kind }) => kind)).toEqual(["done"]);
  await remove();
});

test("3542-3 every layer goes through its stages in order, and the layers add up", async () => {
  const { reference } = await start({ handle: slowly(20) });
  const reports = await pullAll(fixture.images, {
    reference,
    granularity: { kind: "size", intervalBytes: 1 },
  });
  const order = ["waiting", "downloading", "verifying", "unpacking", "done"];
  for (const { digest } of registries[0]?.layers ?? []) {
    const stages = reports.flatMap(({ layers }) => layers.filter((layer) => layer.digest === digest));
    const positions = stages.map(({ stage }) => order.indexOf(stage));
    expect(positions).toEqual([...positions].sort((a, b) => a - b));
    expect(stages.at(-1)).toMatchObject({ stage: "done", offset: stages.at(-1)?.total });
  }
  for (const report of reports) {
    expect(report.layers.reduce((sum, layer) => sum + layer.offset, 0)).toBe(report.offset);
    expect(report.layers.reduce((sum, layer) => sum + layer.total, 0)).toBe(report.total);
  }
});

test("3542-9 an image that shares a layer reports only what it lacks", async () => {
  const first = await start({ layers: layers.slice(0, 1) });
  const second = await start();
  await pullAll(fixture.images, { reference: first.reference });
  const reports = await pullAll(fixture.images, { reference: second.reference });
  expect(reports.at(-1)).toMatchObject({
    offset: sizes[1],
    total: sizes[1],
    layers: [
      { stage: "exists", offset: 0, total: 0 },
      { stage: "done", offset: sizes[1], total: sizes[1] },
    ],
  });
  expect(blobRequests(second)).toHaveLength(1);
  const again = await pullAll(fixture.images, { reference: second.reference });
  expect(again).toMatchObject([{ kind: "done", offset: 0, total: 0 }]);
});

test("pulls of one image at once share one download; the last caller's cancel ends it", async () => {
  let cuts = 0;
  const registry = await start({ handle: slowly(100, { onCut: () => cuts++ }) });
  const aborts = [new AbortController(), new AbortController()];
  const pulls = aborts.map(({ signal }) =>
    pullAll(fixture.images, { reference: registry.reference, signal }),
  );
  for (const pull of pulls) pull.catch(() => {});
  await expect.poll(() => blobRequests(registry).length).toBe(2);
  aborts[0]?.abort();
  await expect(pulls[0]).rejects.toMatchObject({ code: "cancelled" });
  await delay(150);
  expect(cuts).toBe(0);
  aborts[1]?.abort();
  await expect(pulls[1]).rejects.toMatchObject({ code: "cancelled" });
  await expect.poll(() => cuts).toBe(2);
  expect(blobRequests(registry)).toHaveLength(2);
});

test("a caller's timeout ends its own pull, not the pulls of others", async () => {
  const registry = await start({ handle: slowly(300) });
  const impatient = pullAll(fixture.images, { reference: registry.reference, noProgressTimeoutMs: 100 });
  const patient = pullAll(fixture.images, { reference: registry.reference });
  await expect(impatient).rejects.toMatchObject({ code: "noProgress" });
  expect((await patient).at(-1)).toMatchObject({ kind: "done", offset: total });
  expect(blobRequests(registry)).toHaveLength(2);
});

test("3542-13 a pull that unpacked before it joins a silent layer waits its whole timeout for that layer", async () => {
  const [own = Buffer.alloc(0), shared = Buffer.alloc(0)] = layers;
  let asked = 0;
  const isShared = (path: string | undefined) => path?.endsWith(digestOf(shared)) ?? false;
  const hung = await start({ layers: [shared], handle: ({ url }) => isShared(url) && ++asked === 1 });
  const other = await start({ layers: [own, shared] });
  // An hour passes while the first layer is unpacked.
  const hasUnpacked = () => readdirSync(join(fixture.dataDir, "layers")).length > 0;
  const clock = { ...systemClock, now: () => Date.now() + (hasUnpacked() ? 3_600_000 : 0) };
  await fixture.images.close();
  fixture = await openImages({ dataDir: fixture.dataDir, clock, maxParallelLayers: 1 });
  const first = pullAll(fixture.images, { reference: hung.reference });
  await expect.poll(() => asked).toBe(1);
  const second = pullAll(fixture.images, { reference: other.reference, noProgressTimeoutMs: 4_000 });
  expect((await second).at(-1)).toMatchObject({ kind: "done", offset: total });
  expect((await first).at(-1)).toMatchObject({ kind: "done" });
});

test("different images that share a layer download it once", async () => {
  const first = await start({ handle: slowly(30) });
  const second = await start({ layers: layers.slice(0, 1), handle: slowly(30) });
  await Promise.all([first, second].map(({ reference }) => pullAll(fixture.images, { reference })));
  expect(blobRequests(first).length + blobRequests(second).length).toBe(2);
});

test("leaving the loop early cancels too", async () => {
  let cuts = 0;
  const registry = await start({ handle: slowly(100, { onCut: () => cuts++ }) });
  const { signal } = new AbortController();
  const granularity = { kind: "size", intervalBytes: 1 } as const;
  for await (const _report of fixture.images.pull({ reference: registry.reference, granularity, signal }))
    break;
  await expect.poll(() => cuts).toBe(2);
});
