import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePod } from "../containers/make-pod.fixture.ts";
import { memoryVolumeBytes } from "./local-directories.ts";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("sets up an emptyDir on disk once and does not change it afterwards", async () => {
  const { volumes, podsDir, api, mounter } = start();
  const pod = podWith([{ name: "cache", emptyDir: {} }]);
  const mounted = await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/cache");
  expect(mounted).toEqual(new Map([["cache", { hostPath: path, readOnly: false }]]));
  expect(statSync(path).mode & 0o7777).toBe(0o777);
  expect(mounter.mounts.size).toBe(0);

  chmodSync(path, 0o700);
  writeFileSync(join(path, "file"), "kept");
  await start({ podsDir, api }).volumes.setUp(pod, never);
  expect(statSync(path).mode & 0o7777).toBe(0o700);
  expect(readFileSync(join(path, "file"), "utf8")).toBe("kept");
});

test("mounts an emptyDir in memory", async () => {
  const { volumes, podsDir, mounter } = start();
  const pod = podWith([{ name: "shm", emptyDir: { medium: "Memory", sizeLimit: "64Mi" } }]);
  await volumes.setUp(pod, never);
  await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~empty-dir/shm");
  expect([...mounter.mounts]).toEqual([[path, `tmpfs ${64 * 2 ** 20}`]]);

  // After a reboot, the marker exists but the mount does not.
  mounter.mounts.clear();
  await volumes.setUp(pod, never);
  expect(mounter.mounts.has(path)).toBe(true);
});

test("without mounts, memory volumes fail and secrets are stored on disk", async () => {
  const { volumes, mounter, api } = start();
  api.put("secrets", holding("key", { a: "MQ==" }));
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
  // A later mount would hide existing content from containers.
  mounter.refusal = undefined;
  await volumes.setUp(podWith([{ name: "key", secret: { secretName: "key" } }]), never);
  expect(mounter.mounts.size).toBe(0);
});

const mi = 2 ** 20;
const limited = (name: string, memory?: string, restartPolicy?: string) => ({
  name,
  image: "i",
  ...(memory && { resources: { limits: { memory } } }),
  ...(restartPolicy && { restartPolicy }),
});

test.each([
  ["no limits", {}, {}, undefined],
  ["the node", {}, { allocatable: "64Mi" }, 64 * mi],
  ["its own limit", {}, { allocatable: "64Mi", sizeLimit: "8Mi" }, 8 * mi],
  ["a limit above the node's", {}, { allocatable: "64Mi", sizeLimit: "1Gi" }, 64 * mi],
  ["a limit of zero", {}, { allocatable: "64Mi", sizeLimit: "0" }, 64 * mi],
  ["the containers", { containers: [limited("a", "10Mi"), limited("b", "20Mi")] }, {}, 30 * mi],
  ["a container without a limit", { containers: [limited("a", "10Mi"), limited("b")] }, {}, undefined],
  [
    "a large init container",
    { initContainers: [limited("i", "50Mi")], containers: [limited("a", "10Mi")] },
    {},
    50 * mi,
  ],
  [
    "a sidecar beside the others",
    {
      initContainers: [limited("s", "5Mi", "Always"), limited("i", "50Mi")],
      containers: [limited("a", "10Mi")],
    },
    {},
    55 * mi,
  ],
  [
    "the pod's own limit and its overhead",
    { containers: [limited("a")], resources: { limits: { memory: "7Mi" } }, overhead: { memory: "1Mi" } },
    {},
    8 * mi,
  ],
])("size of a memory volume: %s", (_name, spec, facts, bytes) => {
  expect(memoryVolumeBytes({ pod: makePod(spec), ...facts })).toBe(bytes);
});
