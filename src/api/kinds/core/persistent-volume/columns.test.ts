import { expect, test } from "vitest";
import { cellsOf, createdAt } from "../../cells.fixture.ts";

test("a bound volume", () => {
  const spec = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteMany", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany"],
    persistentVolumeReclaimPolicy: "Retain",
    claimRef: { namespace: "ns", name: "c" },
    storageClassName: "fast",
    volumeMode: "Block",
  };
  expect(cellsOf("PersistentVolume", { spec, status: { phase: "Bound" } })).toEqual([
    "x",
    "1Gi",
    "RWO,ROX,RWX,RWOP",
    "Retain",
    "Bound",
    "ns/c",
    "fast",
    "<unset>",
    "",
    "60m",
    "Block",
  ]);
});

test("claims: Pending, Bound, Terminating", () => {
  const requested = {
    resources: { requests: { storage: "1Gi" } },
    storageClassName: "fast",
    accessModes: ["ReadWriteOnce"],
  };
  expect(cellsOf("PersistentVolumeClaim", { spec: requested, status: { phase: "Pending" } })).toEqual([
    "x",
    "Pending",
    "",
    "",
    "",
    "fast",
    "<unset>",
    "60m",
    "<unset>",
  ]);
  const status = { phase: "Bound", capacity: { storage: "2Gi" }, accessModes: ["ReadWriteOnce"] };
  const metadata = {
    deletionTimestamp: createdAt,
    annotations: { "volume.beta.kubernetes.io/storage-class": "slow" },
  };
  expect(
    cellsOf("PersistentVolumeClaim", { spec: { ...requested, volumeName: "v" }, status }, metadata),
  ).toEqual(["x", "Terminating", "v", "2Gi", "RWO", "slow", "<unset>", "60m", "<unset>"]);
});

test("the default storage class is marked", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  expect(cellsOf("StorageClass", { provisioner: "p" }, { annotations })).toEqual([
    "x (default)",
    "p",
    "Delete",
    "Immediate",
    false,
    "60m",
  ]);
  expect(cellsOf("StorageClass", { provisioner: "p", allowVolumeExpansion: true })[0]).toBe("x");
});
