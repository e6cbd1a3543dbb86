import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entryPath, openDirectory } from "./held-directory.ts";
import { holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { removeTree } from "./tear-down.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const start = kubeletsIn(folder);

test("removes the pod's volumes and nothing else", async () => {
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
  await volumes.setUp(pod, never);
  writeFileSync(join(podsDir, "u-1/etc-hosts"), "");
  expect(readdirSync(join(podsDir, "u-1"))).toEqual(expect.arrayContaining(["etc-hosts", "volumes"]));

  await volumes.tearDown("u-1");
  expect(readdirSync(join(podsDir, "u-1"))).toEqual(["etc-hosts"]);
  expect(readFileSync(join(host, "file"), "utf8")).toBe("kept");
  expect(mounter.mounts.size).toBe(0);
  await volumes.tearDown("u-1");
  await volumes.tearDown("never-there");
});

test("does not watch a removed pod, even after a late refresh", async () => {
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

  const notified: string[] = [];
  volumes.onChange((podUid) => notified.push(podUid));
  await volumes.tearDown("u-1");
  await expect.poll(api.watches).toEqual([]);
  await expect(volumes.refresh(pod, AbortSignal.abort(new Error("it has ended")))).rejects.toThrow("ended");
  await clock.advance(600_000);
  expect(notified).toEqual([]);
  expect(api.watches()).toEqual([]);
  stop.abort();
  await running;
});

test("removes nothing while something is mounted", async () => {
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

test.each(["..", "a/b", "", ".hidden"])("rejects the UID %j", async (uid) => {
  const { volumes } = start();
  await expect(volumes.tearDown(uid)).rejects.toThrow("is not a valid name");
});

const precious = join(folder, "precious");
mkdirSync(precious);
writeFileSync(join(precious, "data"), "keep");

test("removes a tree without following links", async () => {
  const directory = join(folder, "volume");
  mkdirSync(join(directory, "a/b"), { recursive: true });
  writeFileSync(join(directory, "a/b/file"), "");
  symlinkSync(precious, join(directory, "a/link"));
  symlinkSync(".", join(directory, "a/loop"));
  // Invalid UTF-8, which containers may use.
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0xfe])]), "");
  mkdirSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xc0])]));
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xc0]), Buffer.from("/x")]), "");
  await removeTree(directory);
  expect(existsSync(directory)).toBe(false);
  expect(readFileSync(join(precious, "data"), "utf8")).toBe("keep");
});

test("removes a link instead of its target", async () => {
  symlinkSync(precious, join(folder, "planted"));
  await removeTree(join(folder, "planted"));
  expect(readdirSync(folder)).not.toContain("planted");
  expect(readdirSync(precious)).toEqual(["data"]);
});

test("ignores a missing directory", async () => {
  await removeTree(join(folder, "none"));
});

test("removes directories that are nested deeper than the path limit", async () => {
  const directory = join(folder, "deep");
  mkdirSync(directory);
  // Created from open directories, because no path can be that long.
  let current = await openDirectory(directory);
  for (let level = 0; level < 1_500; level++) {
    await mkdir(entryPath(current, "dd"));
    const next = await openDirectory(entryPath(current, "dd"));
    await current.close();
    current = next;
  }
  await writeFile(entryPath(current, "file"), "");
  await current.close();
  await removeTree(directory);
  expect(existsSync(directory)).toBe(false);
});
