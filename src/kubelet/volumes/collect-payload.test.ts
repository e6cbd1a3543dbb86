import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makePod } from "../containers/make-pod.fixture.ts";
import { fieldValue, quoteGo } from "../model/downward-api.ts";
import { downwardPayload } from "./collect-payload.ts";
import { failuresOf, holding, kubeletsIn, never, podWith } from "./pod-volumes.fixture.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

test.each([
  ["plain text", '"plain text"'],
  ['say "hi" \\ bye', '"say \\"hi\\" \\\\ bye"'],
  ["a\nb\tc\rd\u0007\b\f\v", '"a\\nb\\tc\\rd\\a\\b\\f\\v"'],
  ["\u0000\u007f", '"\\x00\\x7f"'],
  ["größe ✓ 漢 😀", '"größe ✓ 漢 😀"'],
  ["\u00a0\u200b\u{e0001}", '"\\u00a0\\u200b\\U000e0001"'],
  ["\ud800", '"\ufffd"'],
])("quotes %j as Go does", (text, quoted) => {
  expect(quoteGo(text)).toBe(quoted);
});

const pod = makePod(
  {
    containers: [
      { name: "c", image: "i", resources: { limits: { cpu: "250m" }, requests: { memory: "1Gi" } } },
    ],
  },
  { labels: { zone: "b", app: 'we"b' }, annotations: { "example.com/note": "two\nlines" } },
);

test.each([
  ["metadata.name", "web"],
  ["metadata.namespace", "shop"],
  ["metadata.uid", "u-1"],
  ["metadata.labels", 'app="we\\"b"\nzone="b"'],
  ["metadata.annotations", 'example.com/note="two\\nlines"'],
  ["metadata.labels['zone']", "b"],
  ["metadata.labels['none']", ""],
  ["metadata.labels['constructor']", ""],
  ["metadata.annotations['example.com/note']", "two\nlines"],
])("reads the field %s", (fieldPath, value) => {
  expect(fieldValue(pod, fieldPath)).toBe(value);
});

test.each([
  ["spec.nodeName", "unsupported fieldPath: spec.nodeName"],
  ["metadata.name['x']", `fieldPath "metadata.name['x']" does not support subscript`],
  ["metadata.labels['a b']", "invalid key subscript in metadata.labels['a b']: name part must"],
])("rejects the field %s", (fieldPath, problem) => {
  expect(() => fieldValue(pod, fieldPath)).toThrow(problem);
});

test("files of a downward API volume", () => {
  const items = [
    { path: "labels", fieldRef: { fieldPath: "metadata.labels['zone']" } },
    {
      path: "cpu",
      resourceFieldRef: { containerName: "c", resource: "limits.cpu", divisor: "1m" },
      mode: 0o400,
    },
    { path: "cores", resourceFieldRef: { containerName: "c", resource: "limits.cpu" } },
    { path: "memory", resourceFieldRef: { containerName: "c", resource: "limits.memory", divisor: "1Mi" } },
    { path: "asked", resourceFieldRef: { containerName: "c", resource: "requests.memory", divisor: "1Mi" } },
  ];
  const payload = downwardPayload(pod, { items, defaultMode: 0o640 }, { memory: "2Gi", cpu: "4" });
  expect([...payload].map(([path, { data, mode }]) => [path, data.toString(), mode])).toEqual([
    ["labels", "b", 0o640],
    ["cpu", "250", 0o400],
    ["cores", "1", 0o640],
    ["memory", "2048", 0o640],
    ["asked", "1024", 0o640],
  ]);
});

test("names all failed items", () => {
  const items = [
    { path: "a", fieldRef: { fieldPath: "status.podIP" } },
    { path: "b", resourceFieldRef: { containerName: "none", resource: "limits.cpu" } },
  ];
  expect(() => downwardPayload(pod, { items }, {})).toThrow(
    "[unsupported fieldPath: status.podIP, container none not found]",
  );
});

const start = kubeletsIn(temporaryDirectory());

test("merges the sources of a projected volume", async () => {
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

test("rejects unsupported and missing sources of a projected volume", async () => {
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

test("notifies when a token is due, and a refresh writes the new one", async () => {
  const { volumes, podsDir, clock } = start();
  const sources = [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }];
  const pod = podWith([{ name: "token", projected: { sources } }]);
  await volumes.setUp(pod, never);
  const notified: string[] = [];
  volumes.onChange((podUid) => notified.push(podUid));
  const stop = new AbortController();
  const running = volumes.run(stop.signal);
  const path = join(podsDir, "u-1/volumes/kubernetes.io~projected/token/token");
  await clock.advance(470_000);
  expect(notified).toEqual([]);
  await clock.advance(20_000);
  expect(notified).toEqual(["u-1"]);
  expect(readFileSync(path, "utf8")).toBe("token-1");
  await volumes.refresh(pod, never);
  expect(readFileSync(path, "utf8")).toBe("token-2");
  stop.abort();
  await running;
});
