import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const start = kubeletsIn(folder);

test("tear-down removes the pod's volumes and leaves what is not theirs", async () => {
  const { volumes, podsDir, api, mounter } = start();
  api.put("secrets", holding("key", { a: "MQ==" }));
  const host = join(folder, "host-data");
  mkdirSync(host, { recursive: true });
  writeFileSync(join(host, "file"), "kept");
  const pod = podWith([
    { name: "cache", emptyDir: {} },
    { name: "key", secret: { secretName: "key" } },
    { name: "host", hostPath: { path: host } },
  ]);
  expect(await volumes.podsOnDisk()).toEqual([]);
  await volumes.setUp(pod, never);
  writeFileSync(join(podsDir, "u-1/etc-hosts"), "");
  mkdirSync(join(podsDir, "unrelated"));
  expect(await volumes.podsOnDisk()).toEqual(["u-1"]);

  await volumes.tearDown("u-1");
  expect(readdirSync(join(podsDir, "u-1"))).toEqual(["etc-hosts"]);
  expect(readFileSync(join(host, "file"), "utf8")).toBe("kept");
  expect(mounter.mounts.size).toBe(0);
  expect(await volumes.podsOnDisk()).toEqual([]);
  await volumes.tearDown("u-1");
  await volumes.tearDown("never-there");
});

test("a pod without volumes any more is not followed, nor when a refresh of it comes too late", async () => {
  const { volumes, objects, api, clock } = start();
  api.put("configmaps", holding("web", { a: "1" }));
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 600 } };
  const pod = podWith([
    { name: "config", configMap: { name: "web" } },
    { name: "token", projected: { sources: [token] } },
  ]);
  const stop = new AbortController();
  const running = Promise.all([objects.run(stop.signal), volumes.run(stop.signal)]);
  await volumes.setUp(pod, never);
  await expect.poll(api.watches).toEqual(["configmaps shop/web"]);

  const told: string[] = [];
  volumes.onChange((podUid) => told.push(podUid));
  await volumes.tearDown("u-1");
  await expect.poll(api.watches).toEqual([]);
  await expect(volumes.refresh(pod, AbortSignal.abort(new Error("it has ended")))).rejects.toThrow("ended");
  await clock.advance(600_000);
  expect(told).toEqual([]);
  expect(api.watches()).toEqual([]);
  stop.abort();
  await running;
});

test("nothing is removed while something stays mounted", async () => {
  const { volumes, podsDir, mounter } = start();
  await volumes.setUp(podWith([{ name: "cache", emptyDir: {} }]), never);
  const planted = join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/cache/planted");
  mounter.mounts.set(planted, "bind");
  mounter.unmount = async () => {
    throw new Error("target is busy");
  };
  await expect(volumes.tearDown("u-1")).rejects.toThrow(`still mounted, nothing was removed: ${planted}`);
  expect(existsSync(join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/cache"))).toBe(true);
});

test.each(["..", "a/b", "", ".hidden"])("the uid %j leads nowhere", async (uid) => {
  const { volumes } = start();
  await expect(volumes.tearDown(uid)).rejects.toThrow("is not a valid name");
});
