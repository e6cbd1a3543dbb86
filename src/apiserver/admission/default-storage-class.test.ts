import { expect, test } from "vitest";
import { admitDefaultStorageClass } from "./default-storage-class.ts";

type Claim = Parameters<typeof admitDefaultStorageClass>[0];
type StorageClass = Parameters<typeof admitDefaultStorageClass>[1][number];

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
  admitDefaultStorageClass(claim, classes);
  expect(claim.spec?.storageClassName).toBe(expected);
});

test("a claim that has chosen keeps its choice, even if that is none", () => {
  const none = makeClaim({ spec: { storageClassName: "" } });
  admitDefaultStorageClass(none, [old]);
  expect(none.spec?.storageClassName).toBe("");
  const annotations = { "volume.beta.kubernetes.io/storage-class": "x" };
  const annotated = makeClaim({ metadata: { name: "data", annotations } });
  admitDefaultStorageClass(annotated, [old]);
  expect(annotated.spec?.storageClassName).toBeUndefined();
});
