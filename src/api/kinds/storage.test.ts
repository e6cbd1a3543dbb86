import { describe, expect, test } from "vitest";
import { context, useStrategy } from "./strategy.fixture.ts";

describe("PersistentVolume", () => {
  const { createErrors, make, strategy, updateErrors } = useStrategy("v1", "PersistentVolume");

  test.each<[object, string[]]>([
    [
      { spec: { accessModes: ["Sometimes"] } },
      [
        'spec.accessModes: Unsupported value: "Sometimes": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
        "spec.capacity: Required value",
        'spec.capacity: Unsupported value: null: supported values: "storage"',
        "spec: Required value: must specify a volume type",
      ],
    ],
    [
      {
        spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, local: { path: "/mnt" } },
      },
      ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
    ],
    [
      {
        spec: {
          accessModes: ["ReadWriteOncePod", "ReadWriteOnce"],
          capacity: { storage: "0" },
          hostPath: { path: "/./" },
          persistentVolumeReclaimPolicy: "Recycle",
        },
      },
      [
        "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
        "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
      ],
    ],
  ])("create %j", (fields, expected) => {
    expect(createErrors(fields)).toEqual(expected);
  });

  test("the source of a volume is immutable", () => {
    const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
    const from = (path: string) => ({ spec: { ...spec, hostPath: { path } } });
    expect(updateErrors(from("/a"), from("/a"))).toEqual([]);
    expect(updateErrors(from("/a"), from("/b"))).toEqual([
      expect.stringContaining(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n",
      ),
    ]);
  });

  test("sets lastPhaseTransitionTime when the phase changes", () => {
    const current = make();
    strategy.prepareForCreate?.(current, { ...context, now: 0 });
    expect(current).toMatchObject({
      status: { phase: "Pending", lastPhaseTransitionTime: "1970-01-01T00:00:00Z" },
    });
    const next = { ...structuredClone(current), status: { phase: "Available" } };
    strategy.prepareForStatusUpdate?.(next, current, context);
    expect(next.status).toEqual({ phase: "Available", lastPhaseTransitionTime: "2026-01-02T03:04:05Z" });
  });
});

describe("PersistentVolumeClaim", () => {
  const { createErrors, make, strategy, updateErrors } = useStrategy("v1", "PersistentVolumeClaim");
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "2Gi" } } };
  const bound = { status: { phase: "Bound", capacity: { storage: "1Gi" } } };
  const sized = (storage: string) => ({ ...bound, spec: { ...claim, resources: { requests: { storage } } } });

  test("a size is required, and an unknown volume mode is rejected", () => {
    expect(createErrors({ spec: { accessModes: ["ReadWriteOnce"], volumeMode: "Tape" } })).toEqual([
      "spec.resources[storage]: Required value",
      'spec.volumeMode: Unsupported value: "Tape": supported values: "Block", "Filesystem"',
    ]);
  });

  test.each<[object, object, string[]]>([
    [sized("2Gi"), sized("3Gi"), []],
    [sized("3Gi"), sized("2Gi"), []],
    [
      sized("3Gi"),
      sized("1Gi"),
      ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
    ],
    [{ spec: claim }, { spec: { ...claim, volumeName: "pv" } }, []],
    [{ spec: claim }, { spec: { ...claim, storageClassName: "fast" } }, []],
  ])("update %j to %j", (before, after, expected) => {
    expect(updateErrors(before, after)).toEqual(expected);
  });

  test("other fields of a claim are immutable, and the error shows the change", () => {
    const [error] = updateErrors({ spec: claim }, { spec: { ...claim, accessModes: ["ReadOnlyMany"] } });
    expect(error).toMatch(
      /^spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ [^\n]*\n(?:.*\n)*-.*ReadWriteOnce/,
    );
  });

  test("a claim's dataSource and dataSourceRef are defaulted from each other", () => {
    const source = { kind: "PersistentVolumeClaim", name: "old" };
    const one = make({ spec: { dataSource: source } });
    strategy.prepareForCreate?.(one, context);
    expect(one).toMatchObject({ spec: { dataSource: source, dataSourceRef: source } });
    const two = make({ spec: { dataSourceRef: source } });
    strategy.prepareForCreate?.(two, context);
    expect(two).toMatchObject({ spec: { dataSource: source, dataSourceRef: source } });
    const unknown = make({ spec: { dataSource: { kind: "Cat", name: "x" } } });
    strategy.prepareForCreate?.(unknown, context);
    expect(unknown).not.toHaveProperty("spec.dataSource");
  });
});

describe("StorageClass", () => {
  const { createErrors, updateErrors } = useStrategy("storage.k8s.io/v1", "StorageClass");

  test("requires a provisioner and known policies", () => {
    expect(createErrors({ reclaimPolicy: "Burn", volumeBindingMode: "Later" })).toEqual([
      "provisioner: Required value",
      'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
      'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
    ]);
  });

  test("a storage class is immutable", () => {
    const provisioner = "a.b/c";
    expect(updateErrors({ provisioner }, { provisioner, reclaimPolicy: "Retain" })).toEqual([
      'reclaimPolicy: Invalid value: "Retain": field is immutable',
    ]);
  });
});
