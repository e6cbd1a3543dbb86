import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pod, PodSpec, Volume } from "../../api/objects.ts";
import { silentLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../container/make-pod.fixture.ts";
import { createReferencedObjects } from "../referenced-objects.ts";
import { StartError } from "../start-error.ts";
import { createPodVolumes } from "./create-pod-volumes.ts";
import { createFakeApi, type FakeApi } from "./fake-api.fixture.ts";
import { createFakeMounter } from "./fake-mounter.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const never = new AbortController().signal;
let count = 0;

function start(options: { podsDir?: string; api?: FakeApi } = {}) {
  const clock = createManualClock(Date.UTC(2031, 0, 1));
  const { podsDir = join(folder, `pods-${count++}`), api = createFakeApi(clock) } = options;
  const mounter = createFakeMounter();
  const objects = createReferencedObjects({ client: api.client, clock, logger: silentLogger });
  const volumes = createPodVolumes({
    podsDir,
    client: api.client,
    objects,
    clock,
    logger: silentLogger,
    mounter,
    node: () => ({ name: "n1", labels: { zone: "a" }, allocatable: { memory: "1Gi", cpu: "2" } }),
  });
  return { podsDir, api, clock, mounter, volumes };
}

/** A pod whose only container mounts all the volumes. */
function podWith(volumes: Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return makePod({ containers: [{ name: "c", image: "i", volumeMounts }], volumes, ...spec });
}

async function failuresOf(attempt: Promise<unknown>): Promise<readonly string[]> {
  const error = await attempt.catch((reason: unknown) => reason);
  if (!(error instanceof StartError)) throw new Error(`no StartError: ${error}`);
  expect(error.reason).toBe("FailedMount");
  expect(error.message).toBe(error.failures.join("; "));
  return error.failures;
}

const configMap = (name: string, data: Record<string, string>) => ({
  metadata: { namespace: "shop", name },
  data,
});
const secret = (name: string, data: Record<string, string>) => ({
  metadata: { namespace: "shop", name },
  data,
});

test("an empty directory on the disk is made once and then its containers' own", async () => {
  const { volumes, podsDir, mounter } = start();
  const pod = podWith([{ name: "cache", emptyDir: {} }]);
  const mounted = await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/cache");
  expect(mounted).toEqual(new Map([["cache", { hostPath: path, readOnly: false }]]));
  expect(statSync(path).mode & 0o7777).toBe(0o777);
  expect(mounter.mounts.size).toBe(0);

  chmodSync(path, 0o700);
  writeFileSync(join(path, "file"), "kept");
  await start({ podsDir }).volumes.setUp(pod, never);
  expect(statSync(path).mode & 0o7777).toBe(0o700);
  expect(readFileSync(join(path, "file"), "utf8")).toBe("kept");
});

test("an empty directory in memory", async () => {
  const { volumes, podsDir, mounter } = start();
  const pod = podWith([{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "64Mi" } }]);
  await volumes.setUp(pod, never);
  await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/shm");
  expect([...mounter.mounts]).toEqual([[path, `tmpfs ${64 * 2 ** 20}`]]);

  // After a reboot the marker is there and the mount is not.
  mounter.mounts.clear();
  await volumes.setUp(pod, never);
  expect(mounter.mounts.has(path)).toBe(true);
});

test("where nothing can be mounted, memory is an error and secrets are on the disk", async () => {
  const { volumes, mounter, api } = start();
  api.put("secrets", secret("key", { a: "MQ==" }));
  mounter.refusal = "must be superuser to use mount";
  const pod = podWith([
    { name: "shm", emptyDir: { medium: "Memory" } },
    { name: "key", secret: { secretName: "key" } },
  ]);
  expect(await failuresOf(volumes.setUp(pod, never))).toEqual([
    'MountVolume.SetUp failed for volume "shm" : emptyDir.medium "Memory" needs a kubelet that may mount tmpfs: ' +
      "must be superuser to use mount",
  ]);
  const mounted = await volumes.setUp(podWith([{ name: "key", secret: { secretName: "key" } }]), never);
  expect(readFileSync(join(mounted.get("key")?.hostPath ?? "", "a"), "utf8")).toBe("1");
  // A mount that works from now on would hide what containers have.
  mounter.refusal = undefined;
  await volumes.setUp(podWith([{ name: "key", secret: { secretName: "key" } }]), never);
  expect(mounter.mounts.size).toBe(0);
});

test("every volume that fails has a text of its own, after all have been tried", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", configMap("partial", { here: "1" }));
  const pod = podWith([
    { name: "config", configMap: { name: "web" } },
    { name: "key", secret: { secretName: "key" } },
    { name: "partial", configMap: { name: "partial", items: [{ key: "gone", path: "x" }] } },
    { name: "huge", emptyDir: { medium: "HugePages" } },
    { name: "share", nfs: { server: "s", path: "/" } },
    { name: "host", hostPath: { path: "/proc/none", type: "Directory" } },
    { name: "fine", emptyDir: {} },
  ]);
  expect([...(await failuresOf(volumes.setUp(pod, never)))].sort()).toEqual([
    'MountVolume.SetUp failed for volume "config" : configmap "web" not found',
    'MountVolume.SetUp failed for volume "host" : hostPath type check failed, /proc/none is not a directory, ' +
      'unable to determine its type: path "/proc/none" does not exist',
    'MountVolume.SetUp failed for volume "huge" : emptyDir.medium "HugePages" is not supported by this kubelet: ' +
      'use "" or "Memory"',
    'MountVolume.SetUp failed for volume "key" : secret "key" not found',
    'MountVolume.SetUp failed for volume "partial" : configmap references non-existent config key: gone',
    'MountVolume.SetUp failed for volume "share" : nfs volumes are not supported by this kubelet',
  ]);
  expect(existsSync(join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/fine"))).toBe(true);
});

test("before it is mounted it is said that nothing is missing, and not before that is so", async () => {
  const pod = podWith([
    { name: "cache", emptyDir: {} },
    { name: "config", configMap: { name: "web" } },
    { name: "key", secret: { secretName: "key" } },
  ]);
  const steps: string[] = [];
  const onGathered = () => steps.push("gathered");
  const missing = start();
  missing.api.put("configmaps", configMap("web", { a: "1" }));
  await failuresOf(missing.volumes.setUp(pod, never, onGathered));
  expect(steps).toEqual([]);

  const { volumes, mounter, api } = start();
  api.put("configmaps", configMap("web", { a: "1" }));
  api.put("secrets", secret("key", { a: "MQ==" }));
  let mount = () => {};
  const mayMount = new Promise<void>((resolve) => {
    mount = resolve;
  });
  const { mountTmpfs } = mounter;
  mounter.mountTmpfs = async (directory, options) => {
    await mayMount;
    steps.push("mounted");
    await mountTmpfs(directory, options);
  };
  const making = volumes.setUp(pod, never, onGathered);
  await expect.poll(() => steps).toEqual(["gathered"]);
  mount();
  await making;
  expect(steps).toEqual(["gathered", "mounted"]);
});

test("the next kubelet follows what stands, renews its tokens, and makes nothing that does not stand", async () => {
  const api = createFakeApi(createManualClock(Date.UTC(2031, 0, 1)));
  const podsDir = join(folder, `pods-${count++}`);
  api.put("configmaps", configMap("web", { a: "1" }));
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 3_600 } };
  const stands: Volume[] = [
    { name: "config", configMap: { name: "web" } },
    { name: "token", projected: { sources: [token] } },
  ];
  const mounted = await start({ api, podsDir }).volumes.setUp(podWith(stands), never);
  api.put("configmaps", configMap("web", { a: "2" }));
  api.put("secrets", secret("key", { a: "MQ==" }));

  const next = start({ api, podsDir });
  const told: string[] = [];
  next.volumes.onChange((uid) => told.push(uid));
  await next.volumes.refresh(podWith([...stands, { name: "key", secret: { secretName: "key" } }]), never);
  expect(readFileSync(join(mounted.get("config")?.hostPath ?? "", "a"), "utf8")).toBe("2");
  expect(api.tokenRequests).toHaveLength(2);
  expect(existsSync(join(podsDir, "u-1/volumes/kubernetes.io~secret"))).toBe(false);

  // Known from now on, also when it is due.
  const stop = new AbortController();
  const running = next.volumes.run(stop.signal);
  await next.clock.advance(3_000_000);
  expect(told).toContain("u-1");
  stop.abort();
  await running;
});

test("volumes that no container mounts are left out", async () => {
  const { volumes } = start();
  const pod = podWith([]);
  pod.spec?.volumes?.push({ name: "config", configMap: { name: "none" } });
  expect(await volumes.setUp(pod, never)).toEqual(new Map());
});

test("a config map that comes later is found by the next try, and changes come with a refresh", async () => {
  const { volumes, podsDir, api } = start();
  const pod = podWith([{ name: "config", configMap: { name: "web", defaultMode: 0o440 } }]);
  await failuresOf(volumes.setUp(pod, never));
  api.put("configmaps", configMap("web", { a: "1", b: "1" }));
  const mounted = await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~configmap/config");
  expect(mounted.get("config")).toEqual({ hostPath: path, readOnly: true });
  expect(statSync(join(path, "a")).mode & 0o7777).toBe(0o440);

  api.put("configmaps", configMap("web", { a: "2" }));
  await volumes.refresh(pod, never);
  expect(readdirSync(path).filter((name) => !name.startsWith(".."))).toEqual(["a"]);
  expect(readFileSync(join(path, "a"), "utf8")).toBe("2");
});

test("a volume that stands outlives its object, a lost API and a restart; a refresh says what is wrong", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", configMap("web", { a: "1" }));
  const pod = podWith([{ name: "config", configMap: { name: "web" } }]);
  const mounted = await volumes.setUp(pod, never);
  api.remove("configmaps", "shop", "web");
  expect(await volumes.setUp(pod, never)).toEqual(mounted);
  expect(await failuresOf(volumes.refresh(pod, never))).toEqual([
    'MountVolume.SetUp failed for volume "config" : configmap "web" not found',
  ]);
  api.breakConnection();
  expect(await start({ podsDir, api }).volumes.setUp(pod, never)).toEqual(mounted);
});

test("a projected volume joins its sources", async () => {
  const { volumes, podsDir, api, mounter } = start();
  api.put("configmaps", configMap("ca", { "ca.crt": "cert" }));
  api.put("secrets", secret("key", { k: "c2VjcmV0" }));
  const sources = [
    { serviceAccountToken: { path: "token", expirationSeconds: 3_600 } },
    { configMap: { name: "ca", items: [{ key: "ca.crt", path: "ca.crt", mode: 0o400 }] } },
    { secret: { name: "key" } },
    { secret: { name: "none", optional: true } },
    { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
  ];
  const pod = podWith([{ name: "all", projected: { sources, defaultMode: 0o644 } }], {
    securityContext: { runAsUser: process.getuid?.() ?? 0 },
  });
  await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~projected/all");
  const read = (name: string) =>
    `${(statSync(join(path, name)).mode & 0o7777).toString(8)} ${readFileSync(join(path, name), "utf8")}`;
  expect(["token", "ca.crt", "k", "namespace"].map(read)).toEqual([
    "600 token-1",
    "400 cert",
    "644 secret",
    "644 shop",
  ]);
  expect([...mounter.mounts.keys()]).toEqual([path]);
});

test("what a projected volume cannot have", async () => {
  const { volumes, api } = start();
  const pod = podWith([
    {
      name: "all",
      projected: {
        sources: [
          { configMap: { name: "none" } },
          { clusterTrustBundle: { name: "b", path: "b" } },
          { podCertificate: { keyType: "ED25519", signerName: "s" } },
        ],
      },
    },
  ]);
  expect(await failuresOf(volumes.setUp(pod, never))).toEqual([
    'MountVolume.SetUp failed for volume "all" : [configmap "none" not found, ' +
      "clusterTrustBundle is not supported by this kubelet as a source of a projected volume, " +
      "podCertificate is not supported by this kubelet as a source of a projected volume]",
  ]);
  expect(api.tokenRequests).toEqual([]);
});

test("pods are told when a token is due, and a refresh brings the new one", async () => {
  const { volumes, podsDir, clock } = start();
  const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }];
  const pod = podWith([{ name: "token", projected: { sources } }]);
  await volumes.setUp(pod, never);
  const told: string[] = [];
  volumes.onChange((podUid) => told.push(podUid));
  const stop = new AbortController();
  const running = volumes.run(stop.signal);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~projected/token/token");
  await clock.advance(470_000);
  expect(told).toEqual([]);
  await clock.advance(20_000);
  expect(told).toEqual(["u-1"]);
  expect(readFileSync(path, "utf8")).toBe("token-1");
  await volumes.refresh(pod, never);
  expect(readFileSync(path, "utf8")).toBe("token-2");
  stop.abort();
  await running;
});

test("directories are made for what is mounted inside a read-only volume", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", configMap("web", { a: "1" }));
  const volumeMounts = [
    { name: "config", mountPath: "/etc/app" },
    { name: "cache", mountPath: "/etc/app/cache" },
  ];
  const pod = makePod({
    containers: [{ name: "c", image: "i", volumeMounts }],
    volumes: [
      { name: "config", configMap: { name: "web" } },
      { name: "cache", emptyDir: {} },
    ],
  });
  await volumes.setUp(pod, never);
  expect(statSync(join(podsDir, "u-1/volumes/kubernetes.io~configmap/config/cache")).isDirectory()).toBe(
    true,
  );
});

test("tear-down removes the pod's volumes and leaves what is not theirs", async () => {
  const { volumes, podsDir, api, mounter } = start();
  api.put("secrets", secret("key", { a: "MQ==" }));
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

test("a name that would leave the pod's directory is refused", async () => {
  const { volumes } = start();
  expect(await failuresOf(volumes.setUp(podWith([{ name: "../../x", emptyDir: {} }]), never))).toEqual([
    'MountVolume.SetUp failed for volume "../../x" : "../../x" is not a valid name',
  ]);
});

test("an abort ends it without a word about volumes", async () => {
  const { volumes } = start();
  const stop = new AbortController();
  stop.abort(new Error("the pod is gone"));
  const pod = podWith([{ name: "config", configMap: { name: "none" } }]);
  await expect(volumes.setUp(pod, stop.signal)).rejects.toThrow("the pod is gone");
});
