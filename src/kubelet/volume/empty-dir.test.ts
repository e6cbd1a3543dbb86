import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("an empty directory on the disk is made once and then its containers' own", async () => {
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
  // A mount that works from now on would hide what containers have.
  mounter.refusal = undefined;
  await volumes.setUp(podWith([{ name: "key", secret: { secretName: "key" } }]), never);
  expect(mounter.mounts.size).toBe(0);
});
