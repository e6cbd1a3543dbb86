import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import type { Client, ObjectKey } from "../../client/api/client.ts";
import type { Change, Informer } from "../../client/informers/informer.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createPodSource } from "./pod-source.ts";
import type { PodUpdate } from "./pod-worker.ts";

let directory: string;
let stop: AbortController;
let running: Promise<void> | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kindling-source-"));
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
  await rm(directory, { recursive: true, force: true });
});

/** API that holds pods and notifies the source of changes, and workers that record their updates. */
function setUp({ staticPodPath = "", mirrors = [] as readonly Pod[] } = {}) {
  const stored = new Map(mirrors.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod]));
  const handlers: ((change: Change<Pod>) => void)[] = [];
  const updates: { name: string; removed: boolean; shown: string | undefined }[] = [];
  const removed: string[] = [];
  let nextUid = 1;
  function put(pod: Pod): void {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const kind = stored.has(key) ? "updated" : "added";
    stored.set(key, pod);
    for (const handler of handlers) handler({ kind, object: pod } as Change<Pod>);
  }
  function take({ namespace, name }: ObjectKey): void {
    const pod = stored.get(`${namespace}/${name}`);
    stored.delete(`${namespace}/${name}`);
    if (pod) for (const handler of handlers) handler({ kind: "deleted", object: pod } as Change<Pod>);
  }
  const client = {
    async create(_resource: string, pod: Pod) {
      put({ ...pod, metadata: { ...pod.metadata, uid: `mirror-${nextUid++}` } });
    },
    delete: async (_resource: string, key: ObjectKey) => take(key),
  } as unknown as Client;
  const pods: Informer<Pod> = {
    get: (key) => stored.get(key),
    list: () => [...stored.values()],
    byIndex: () => [],
    onChange: (handler) => void handlers.push(handler),
    synced: Promise.resolve(),
    run: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  };
  const source = createPodSource({
    client,
    pods,
    workers: {
      update: ({ pod, removed: isRemoved, inApi }: PodUpdate) =>
        void updates.push({ name: pod.metadata.name ?? "", removed: isRemoved, shown: inApi?.metadata.uid }),
      remove: (uid) => void removed.push(uid),
    },
    node: async () => ({ metadata: { name: "n", uid: "node" } }),
    nodeName: "n",
    staticPodPath,
    clock: createManualClock(0),
    logger: silentLogger,
  });
  running = source.run(stop.signal);
  return { source, put, take, stored, updates, removed };
}

function apiPod(name: string, more: Partial<Pod["metadata"]> = {}): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: name, ...more } };
}

const writeStatic = (word: string) =>
  writeFile(
    join(directory, "web.yaml"),
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "web", annotations: { word } },
      spec: { containers: [{ name: "c", image: "web:1" }] },
    }),
  );

test("passes on pods of the API and their removal", async () => {
  const { source, put, take, updates, removed } = setUp();
  await source.synced;
  put(apiPod("a"));
  put(apiPod("a", { deletionTimestamp: "2026-01-01T00:00:00Z" }));
  take({ namespace: "default", name: "a" });
  expect(updates).toEqual([
    { name: "a", removed: false, shown: "a" },
    { name: "a", removed: false, shown: "a" },
  ]);
  expect(removed).toEqual(["a"]);
});

test("runs a static pod before it has a mirror pod, which then carries its status", async () => {
  await writeStatic("one");
  const { source, stored, updates } = setUp({ staticPodPath: directory });
  await source.synced;
  await expect.poll(() => updates.at(-1)).toEqual({ name: "web-n", removed: false, shown: "mirror-1" });
  expect(updates[0]).toEqual({ name: "web-n", removed: false, shown: undefined });
  expect([...stored.keys()]).toEqual(["default/web-n"]);
});

test("keeps a static pod running without its mirror pod and creates a new one", async () => {
  await writeStatic("one");
  const { take, updates, removed } = setUp({ staticPodPath: directory });
  await expect.poll(() => updates.at(-1)?.shown).toBe("mirror-1");
  take({ namespace: "default", name: "web-n" });
  expect(updates.at(-1)).toEqual({ name: "web-n", removed: false, shown: undefined });
  await expect.poll(() => updates.at(-1)?.shown).toBe("mirror-2");
  expect(removed).toEqual([]);
});

test("a restarted kubelet keeps the existing mirror pod", async () => {
  await writeStatic("one");
  const { source, stored } = setUp({ staticPodPath: directory });
  await source.synced;
  await expect.poll(() => stored.size).toBe(1);
  stop.abort();
  await running;
  const mirrors = [...stored.values()].map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: "kept" } }));
  stop = new AbortController();
  const restarted = setUp({ staticPodPath: directory, mirrors });
  await restarted.source.synced;
  await expect.poll(() => restarted.updates.at(-1)?.shown).toBe("kept");
  expect([...restarted.stored.values()]).toEqual(mirrors);
});

test("an edited file is a new pod with the same name; removing a file removes pod and mirror pod", async () => {
  await writeStatic("one");
  const { stored, updates, removed } = setUp({ staticPodPath: directory });
  await expect.poll(() => updates.at(-1)?.shown).toBe("mirror-1");
  await writeStatic("two");
  await expect.poll(() => updates.at(-1)?.shown).toBeDefined();
  await expect.poll(() => stored.get("default/web-n")?.metadata.annotations).toMatchObject({ word: "two" });
  expect(removed.length).toBeGreaterThanOrEqual(1);
  await rm(join(directory, "web.yaml"));
  await expect.poll(() => stored.size).toBe(0);
  expect(new Set(removed).size).toBe(removed.length);
});

test("deletes a mirror pod without a manifest", async () => {
  const annotations = { "kubernetes.io/config.mirror": "of-a-file-that-was" };
  const { source, put, stored, updates } = setUp({ staticPodPath: directory });
  await source.synced;
  put(apiPod("old-n", { annotations }));
  await expect.poll(() => stored.size).toBe(0);
  expect(updates).toEqual([]);
});
