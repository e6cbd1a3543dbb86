import { expect, test } from "vitest";
import type { Info, Status } from "../../cri/generated/containerd.ts";
import { manifestFilters, parseBlobs, parseIngests, parseManifest, sourceOf } from "./content-facts.ts";

const digest = (name: string) => `sha256:${name.padEnd(64, "0")}`;
const status = (ref: string, offset: number, total: number): Status => ({
  ref,
  offset,
  total,
  expected: "",
  startedAt: undefined,
  updatedAt: undefined,
});
const info = (name: string, labels: Record<string, string>, createdAt = new Date(5_000)): Info => ({
  digest: digest(name),
  size: 7,
  createdAt,
  updatedAt: undefined,
  labels,
});

test("3542-14 only refs of layers are layers that are being received", () => {
  const statuses = [
    status(`layer-${digest("a")}`, 1, 2),
    status(`manifest-${digest("b")}`, 1, 2),
    status(`config-${digest("c")}`, 1, 2),
    status("upload/17", 1, 2),
    status("layer-", 1, 2),
  ];
  expect([...parseIngests(statuses)]).toEqual([[digest("a"), { offset: 1, total: 2 }]]);
});

test.each([
  ["busybox", "docker.io/library/busybox", undefined],
  ["registry.example.com:5000/team/app:1", "registry.example.com/team/app", undefined],
  [`127.0.0.1:5000/app@${digest("a")}`, "127.0.0.1/app", digest("a")],
  ["[fd00::1]:5000/app", "fd00::1/app", undefined],
])("3542-14 containerd names the source of %s %s", (image, repository, pinned) => {
  expect(sourceOf(image)).toEqual({ repository, ...(pinned && { digest: pinned }) });
});

test("3542-14 an image name that is not valid has no source and no filters", () => {
  expect(sourceOf("App")).toBeUndefined();
  expect(manifestFilters('a" or "b')).toEqual([]);
});

test("3542-14 manifests, indexes and layers are distinguished by their labels", () => {
  const { manifests, indexes, layers } = parseBlobs([
    info("m", {
      "containerd.io/gc.ref.content.config": digest("c"),
      "containerd.io/gc.ref.content.l.0": digest("x"),
      "containerd.io/gc.ref.content.l.1": digest("y"),
      "containerd.io/distribution.source.registry.example.com": "app,team/app",
    }),
    info("i", { "containerd.io/gc.ref.content.m.0": digest("m") }),
    info("x", { "containerd.io/uncompressed": digest("u") }),
    info("y", {}),
  ]);
  expect(manifests).toEqual([
    {
      digest: digest("m"),
      repositories: ["registry.example.com/app", "registry.example.com/team/app"],
      createdMs: 5_000,
      touchedMs: 5_000,
      layerDigests: [digest("x"), digest("y")],
    },
  ]);
  expect([...indexes]).toEqual([[digest("i"), [digest("m")]]]);
  expect([...layers]).toEqual([
    [digest("x"), { createdMs: 5_000, isUnpacked: true }],
    [digest("y"), { createdMs: 5_000, isUnpacked: false }],
  ]);
});

test("3542-14 the time of the last pull is that of the last change, or of the creation in containerd 1.6", () => {
  const labels = { "containerd.io/gc.ref.content.l.0": digest("x") };
  const touched = (updatedAt: Date | undefined) =>
    parseBlobs([{ ...info("m", labels), updatedAt }]).manifests[0]?.touchedMs;
  expect(touched(new Date(9_000))).toBe(9_000);
  // The zero time of Go.
  expect(touched(new Date("0001-01-01T00:00:00Z"))).toBe(5_000);
});

test("3542-14 a layer that occurs twice counts once", () => {
  const layer = { digest: digest("a"), size: 5 };
  const content = Buffer.from(JSON.stringify({ layers: [layer, { digest: digest("b"), size: 7 }, layer] }));
  expect(parseManifest(content)).toEqual([layer, { digest: digest("b"), size: 7 }]);
});

test.each([
  ["no JSON", "{"],
  ["no manifest", "[]"],
  ["no list", '{"layers":{}}'],
  ["a negative size", JSON.stringify({ layers: [{ digest: digest("a"), size: -1 }] })],
  ["a size that is no integer", JSON.stringify({ layers: [{ digest: digest("a"), size: 1e300 }] })],
  ["a digest that is a filter", JSON.stringify({ layers: [{ digest: "x,labels.y", size: 1 }] })],
  ["too many layers", JSON.stringify({ layers: Array(1_001).fill({ digest: digest("a"), size: 1 }) })],
])("3542-14 a hostile manifest is ignored: %s", (_name, text) => {
  expect(parseManifest(Buffer.from(text))).toBeUndefined();
});
