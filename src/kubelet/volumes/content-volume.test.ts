import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Volume } from "../../api/meta/objects.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { nestedMountPoints } from "./content-volume.ts";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { usedVolumes, volumeKind } from "./pod-volumes.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("a retry finds a ConfigMap that was created later, and a refresh updates it", async () => {
  const { volumes, podsDir, api } = start();
  const pod = podWith([{ name: "config", configMap: { name: "web", defaultMode: 0o440 } }]);
  await failuresOf(volumes.setUp(pod, never));
  api.put("configmaps", holding("web", { a: "1", b: "1" }));
  const mounted = await volumes.setUp(pod, never);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~configmap/config");
  expect(mounted.get("config")).toEqual({ hostPath: path, readOnly: true });
  expect(statSync(join(path, "a")).mode & 0o7777).toBe(0o440);

  api.put("configmaps", holding("web", { a: "2" }));
  await volumes.refresh(pod, never);
  expect(readdirSync(path).filter((name) => !name.startsWith(".."))).toEqual(["a"]);
  expect(readFileSync(join(path, "a"), "utf8")).toBe("2");
});

test("an existing volume survives the deletion of its object, an outage and a restart; a refresh fails", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", holding("web", { a: "1" }));
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

test("a restarted kubelet watches existing volumes, renews tokens and creates no volumes on refresh", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", holding("web", { a: "1" }));
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 3_600 } };
  const stands: Volume[] = [
    { name: "config", configMap: { name: "web" } },
    { name: "token", projected: { sources: [token] } },
  ];
  const mounted = await volumes.setUp(podWith(stands), never);
  api.put("configmaps", holding("web", { a: "2" }));
  api.put("secrets", holding("key", { a: "MQ==" }));

  const next = start({ api, podsDir });
  const notified: string[] = [];
  next.volumes.onChange((uid) => notified.push(uid));
  await next.volumes.refresh(podWith([...stands, { name: "key", secret: { secretName: "key" } }]), never);
  expect(readFileSync(join(mounted.get("config")?.hostPath ?? "", "a"), "utf8")).toBe("2");
  expect(api.tokenRequests).toHaveLength(2);
  expect(existsSync(join(podsDir, "u-1/volumes/kubernetes.io~secret"))).toBe(false);

  // The token is cached from now on and renewed when due.
  const stop = new AbortController();
  const running = next.volumes.run(stop.signal);
  await next.clock.advance(3_000_000);
  expect(notified).toContain("u-1");
  stop.abort();
  await running;
});

test("creates directories for mounts inside a read-only volume", async () => {
  const { volumes, podsDir, api } = start();
  api.put("configmaps", holding("web", { a: "1" }));
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

const mounts = (...pairs: [string, string][]) =>
  makePod({
    containers: [
      { name: "c", image: "i", volumeMounts: pairs.map(([name, mountPath]) => ({ name, mountPath })) },
    ],
    volumes: [
      { name: "config", configMap: { name: "x" } },
      { name: "unused", nfs: { server: "s", path: "/" } },
    ],
  });

test.each<[string, [string, string][], string[]]>([
  ["none", [["config", "/etc/app"]], []],
  [
    "the outermost only",
    [
      ["config", "/etc/app/"],
      ["tls", "/etc/app/tls"],
      ["ca", "/etc/app/tls/ca"],
      ["more", "/etc/app/tls-more"],
      ["other", "/etc/application"],
    ],
    ["tls", "tls-more"],
  ],
  [
    "in the root",
    [
      ["config", "/"],
      ["deep", "/a/b/c"],
    ],
    ["a/b/c"],
  ],
])("mount points inside a volume: %s", (_name, pairs, expected) => {
  expect(nestedMountPoints(mounts(...pairs), "config")).toEqual(expected);
});

test("rejects a mount point outside the container", () => {
  expect(() => nestedMountPoints(mounts(["config", "../../x"]), "config")).toThrow(
    "invalid container mount point ../../x",
  );
});

test("uses only volumes that a container mounts", () => {
  expect(usedVolumes(mounts(["config", "/x"])).map((volume) => volume.name)).toEqual(["config"]);
});

test("a volume without a source is an emptyDir", () => {
  expect(volumeKind({ name: "v" })).toBe("emptyDir");
  expect(volumeKind({ name: "v", csi: { driver: "d" } })).toBe("csi");
});
