import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Volume } from "../../api/objects.ts";
import { makePod } from "../container/make-pod.fixture.ts";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("a config map that comes later is found by the next try, and changes come with a refresh", async () => {
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

test("a volume that stands outlives its object, a lost API and a restart; a refresh says what is wrong", async () => {
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

test("the next kubelet follows what stands, renews its tokens, and makes nothing that does not stand", async () => {
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

test("directories are made for what is mounted inside a read-only volume", async () => {
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
