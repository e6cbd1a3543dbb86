import { mkdtemp, rm } from "node:fs/promises";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import { openContentStore } from "../content/content-store.ts";
import { openLayerStore } from "../snapshots/layer-store.ts";
import type { UnpackPool } from "../snapshots/unpack-pool.ts";
import { fetchLayer, type LayerFetchDeps } from "./fetch-layer.ts";

const size = 3;
const digest = `sha256:${"ab".repeat(32)}`;
const diffId = `sha256:${"cd".repeat(32)}`;
let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-fetch-layer-"));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

/** Unpack pool without a process: every archive is complete and empty. */
const pool: UnpackPool = {
  hash: () => ({ advance() {}, finish: async () => digest }),
  unpack: async () => ({
    diffId,
    bytes: 0,
    entries: 0,
    whiteouts: [],
    opaque: [],
    implicit: [],
    skipped: [],
  }),
  warm() {},
  close: async () => {},
};

async function openDeps(): Promise<LayerFetchDeps> {
  return {
    content: await openContentStore(dataDir),
    layers: await openLayerStore({ dataDir, bootId: "boot" }),
    pool,
    clock: systemClock,
    limits: async () => ({ maxBytes: 1_000, maxEntries: 10 }),
    exclusive: createKeyedMutex(),
    active: new Map(),
  };
}

function layerBody(): IncomingMessage {
  const body = new IncomingMessage(new Socket());
  body.push(Buffer.alloc(size));
  body.push(null);
  return body;
}

/** Stages and offsets in the order in which they were reported. */
async function fetchStages(deps: LayerFetchDeps): Promise<string[]> {
  const { state, result } = fetchLayer(deps, {
    descriptor: { digest, size, mediaType: "application/vnd.oci.image.layer.v1.tar" },
    diffId,
    client: {
      manifest: () => Promise.reject(new Error("not requested")),
      blob: async () => ({ status: 200, headers: {}, body: layerBody() }),
      reconnect() {},
    },
    signal: new AbortController().signal,
  });
  const reported: string[] = [];
  const report = () => {
    const { stage, offset, total } = state.progress;
    const line = `${stage} ${offset}/${total}`;
    if (reported.at(-1) !== line) reported.push(line);
  };
  report();
  state.onChange(report);
  await result;
  return reported;
}

test("3542-3 reports when a layer waits and when its download, verification and unpacking begin", async () => {
  const deps = await openDeps();
  expect(await fetchStages(deps)).toEqual([
    "waiting 0/3",
    "downloading 0/3",
    "downloading 3/3",
    "verifying 3/3",
    "unpacking 3/3",
    "done 3/3",
  ]);
  // Another pull has fetched the layer meanwhile.
  expect(await fetchStages(deps)).toEqual(["waiting 0/3", "done 3/3"]);
});
