import { expect, test } from "vitest";
import { setDefaultStorageClass } from "./object-defaults.ts";

type Claim = Parameters<typeof setDefaultStorageClass>[0];
type StorageClass = Parameters<typeof setDefaultStorageClass>[1][number];

function makeClass(name: string, created: string, annotations: Record<string, string>): StorageClass {
  const kind = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", provisioner: "a/b" };
  return { ...kind, metadata: { name, creationTimestamp: created, annotations } };
}

const isDefault = { "storageclass.kubernetes.io/is-default-class": "true" };
const old = makeClass("old", "2026-01-01T00:00:00Z", isDefault);
const recent = makeClass("recent", "2026-02-01T00:00:00Z", isDefault);
const twin = makeClass("a-twin", "2026-02-01T00:00:00Z", isDefault);
const plain = makeClass("plain", "2026-03-01T00:00:00Z", {});

function makeClaim(fields: Partial<Claim> = {}): Claim {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" }, spec: {}, ...fields };
}

test.each<[string, StorageClass[], string | undefined]>([
  ["no class", [], undefined],
  ["no default", [plain], undefined],
  ["one default", [plain, old], "old"],
  ["the newest of two", [old, recent, plain], "recent"],
  ["the first by name of those equally old", [recent, twin], "a-twin"],
])("%s", (_, classes, expected) => {
  const claim = makeClaim();
  setDefaultStorageClass(claim, classes);
  expect(claim.spec?.storageClassName).toBe(expected);
});

test("keeps the class of a claim, including an empty one", () => {
  const none = makeClaim({ spec: { storageClassName: "" } });
  setDefaultStorageClass(none, [old]);
  expect(none.spec?.storageClassName).toBe("");
  const annotations = { "volume.beta.kubernetes.io/storage-class": "x" };
  const annotated = makeClaim({ metadata: { name: "data", annotations } });
  setDefaultStorageClass(annotated, [old]);
  expect(annotated.spec?.storageClassName).toBeUndefined();
});
