import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("reports each failed volume after all have been tried", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", holding("partial", { here: "1" }));
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

test("calls onGathered after all objects are found and before mounting", async () => {
  const pod = podWith([
    { name: "cache", emptyDir: {} },
    { name: "config", configMap: { name: "web" } },
    { name: "key", secret: { secretName: "key" } },
  ]);
  const steps: string[] = [];
  const onGathered = () => steps.push("gathered");
  const missing = start();
  missing.api.put("configmaps", holding("web", { a: "1" }));
  await failuresOf(missing.volumes.setUp(pod, never, onGathered));
  expect(steps).toEqual([]);

  const { volumes, mounter, api } = start();
  api.put("configmaps", holding("web", { a: "1" }));
  api.put("secrets", holding("key", { a: "MQ==" }));
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

test("skips volumes that no container mounts", async () => {
  const { volumes } = start();
  const pod = podWith([]);
  pod.spec?.volumes?.push({ name: "config", configMap: { name: "none" } });
  expect(await volumes.setUp(pod, never)).toEqual(new Map());
});

test("rejects a name that would leave the pod's directory", async () => {
  const { volumes } = start();
  expect(await failuresOf(volumes.setUp(podWith([{ name: "../../x", emptyDir: {} }]), never))).toEqual([
    'MountVolume.SetUp failed for volume "../../x" : "../../x" is not a valid name',
  ]);
});

test("an abort throws the signal's reason", async () => {
  const { volumes } = start();
  const stop = new AbortController();
  stop.abort(new Error("the pod is gone"));
  const pod = podWith([{ name: "config", configMap: { name: "none" } }]);
  await expect(volumes.setUp(pod, stop.signal)).rejects.toThrow("the pod is gone");
});
