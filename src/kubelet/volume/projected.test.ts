import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const start = kubeletsIn(temporaryDirectory());

test("a projected volume joins its sources", async () => {
  const { volumes, podsDir, api, mounter } = start();
  api.put("configmaps", holding("ca", { "ca.crt": "cert" }));
  api.put("secrets", holding("key", { k: "c2VjcmV0" }));
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
