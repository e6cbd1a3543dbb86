import { describe, expect, test } from "vitest";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/meta/objects.ts";
import { holdFor } from "../../api/pod/volume-binding.ts";
import { decideReclaim, decideVolume } from "./decide-volume.ts";
import { localVolumeProblem, makeLocalVolume, ownDirectoryOf } from "./local-provisioner.ts";
import { decideClaimProtection, decideVolumeProtection, type Protection } from "./protection.ts";
import {
  claimBoundTo,
  claimInPhase,
  standardClass,
  unboundVolume,
  volumeInPhase,
} from "./storage-objects.ts";
import { heldForData, makeBoundClaim, makeClaim, makeClass, makeVolume } from "./volumes.fixture.ts";

const provisioned = (by: string) => ({ annotations: { "pv.kubernetes.io/provisioned-by": by } });
const byController = { annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } };
const disposable = { persistentVolumeReclaimPolicy: "Delete" };

describe("decideVolume for a volume", () => {
  const cases: [string, PersistentVolume, PersistentVolumeClaim | undefined, object][] = [
    ["without claimRef", makeVolume("a"), undefined, { kind: "phase", phase: "Available" }],
    [
      "reserved for a claim that does not exist yet",
      makeVolume("a", { claimRef: { namespace: "default", name: "data" } }),
      undefined,
      { kind: "phase", phase: "Available" },
    ],
    ["whose claim is gone", makeVolume("a", heldForData), undefined, { kind: "release" }],
    [
      "whose claim was replaced by another of that name",
      makeVolume("a", heldForData),
      makeClaim({}, { uid: "later" }),
      { kind: "release" },
    ],
    ["whose claim is not bound yet", makeVolume("a", heldForData), makeClaim(), { kind: "requeueClaim" }],
    [
      "of another volume mode",
      makeVolume("a", heldForData),
      makeClaim({ volumeMode: "Block" }),
      { kind: "mismatch" },
    ],
    [
      "whose claim names it",
      makeVolume("a", heldForData),
      makeBoundClaim("a"),
      { kind: "phase", phase: "Bound" },
    ],
    ["whose claim has another volume", makeVolume("a", heldForData), makeBoundClaim("b"), { kind: "unbind" }],
    [
      "provisioned for a claim that has another volume",
      makeVolume("a", { ...heldForData, ...disposable }, provisioned("x")),
      makeBoundClaim("b"),
      { kind: "release" },
    ],
  ];
  test.each(cases)("%s", (_, volume, claim, expected) => {
    expect(decideVolume(volume, claim)).toEqual(expected);
  });
});

describe("decideReclaim for a released volume", () => {
  const cases: [string, PersistentVolume, string][] = [
    ["stays", makeVolume("a"), "leave"],
    [
      "of the local provisioner",
      makeVolume("a", disposable, provisioned("kindling.dev/local")),
      "removeLocal",
    ],
    ["of an external provisioner", makeVolume("a", disposable, provisioned("example.com/disks")), "leave"],
    [
      "of a CSI driver",
      makeVolume("a", { ...disposable, hostPath: undefined, csi: { driver: "d", volumeHandle: "h" } }),
      "leave",
    ],
    ["with a hostPath that was not provisioned", makeVolume("a", disposable), "VolumeFailedDelete"],
    [
      "with policy Recycle",
      makeVolume("a", { persistentVolumeReclaimPolicy: "Recycle" }),
      "VolumeFailedRecycle",
    ],
    [
      "with an unknown policy",
      makeVolume("a", { persistentVolumeReclaimPolicy: "?" }),
      "VolumeUnknownReclaimPolicy",
    ],
  ];
  test.each(cases)("%s", (_, volume, expected) => {
    const reclaim = decideReclaim(volume);
    expect(reclaim.kind === "fail" ? reclaim.reason : reclaim.kind).toBe(expected);
  });
});

describe("protection finalizer", () => {
  const pod = (claimName: string, nodeName?: string) =>
    ({
      metadata: { namespace: "default" },
      spec: { nodeName, volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] },
    }) as Pod;
  const finalizers = ["kubernetes.io/pvc-protection"];
  const cases: [string, Partial<PersistentVolumeClaim["metadata"]>, Pod[], Protection][] = [
    ["is added", {}, [], "add"],
    ["exists", { finalizers }, [], "keep"],
    ["is removed on deletion", { finalizers, deletionTimestamp: "x" }, [], "remove"],
    ["is kept while a pod uses it", { finalizers, deletionTimestamp: "x" }, [pod("data", "node-1")], "keep"],
    ["is removed if the pod has no node", { finalizers, deletionTimestamp: "x" }, [pod("data")], "remove"],
    [
      "is removed if a pod uses another claim",
      { finalizers, deletionTimestamp: "x" },
      [pod("other", "n")],
      "remove",
    ],
    ["is not added on deletion", { deletionTimestamp: "x" }, [], "keep"],
  ];
  test.each(cases)("of a claim %s", (_, metadata, pods, expected) => {
    expect(decideClaimProtection(makeClaim({}, metadata), pods)).toBe(expected);
  });
  test("of a volume is kept while it is bound", () => {
    const going = makeVolume(
      "a",
      {},
      { finalizers: ["kubernetes.io/pv-protection"], deletionTimestamp: "x" },
    );
    expect(decideVolumeProtection(going)).toBe("remove");
    expect(decideVolumeProtection({ ...going, status: { phase: "Bound" } })).toBe("keep");
  });
});

describe("binding", () => {
  test("takes four writes, and none when it is complete", () => {
    const held = holdFor(makeVolume("a"), makeClaim());
    expect(held).toMatchObject({ spec: heldForData, metadata: byController });
    const volume = volumeInPhase(held, "Bound");
    const claim = claimInPhase(claimBoundTo(makeClaim(), volume), "Bound", volume);
    expect(claim).toMatchObject({
      metadata: {
        annotations: {
          "pv.kubernetes.io/bind-completed": "yes",
          "pv.kubernetes.io/bound-by-controller": "yes",
        },
      },
      spec: { volumeName: "a" },
      status: { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } },
    });
    expect(holdFor(volume, claim)).toBe(volume);
    expect(volumeInPhase(volume, "Bound")).toBe(volume);
    expect(claimBoundTo(claim, volume)).toBe(claim);
    expect(claimInPhase(claim, "Bound", volume)).toBe(claim);
    expect(claimInPhase(claim, "Lost").status).toEqual({ phase: "Lost" });
  });
  test("does not mark a binding by name as made by the controller", () => {
    const held = holdFor(makeVolume("a", { claimRef: { namespace: "default", name: "data" } }), makeClaim());
    expect(held.metadata.annotations).toBeUndefined();
    expect(held.spec?.claimRef?.uid).toBe("c1a1");
    expect(unboundVolume(held).spec?.claimRef).toMatchObject({ name: "data" });
    expect(unboundVolume(held).spec?.claimRef?.uid).toBeUndefined();
    expect(claimBoundTo(makeClaim({ volumeName: "a" }), held).metadata.annotations).toEqual({
      "pv.kubernetes.io/bind-completed": "yes",
    });
  });
  test("is removed completely", () => {
    const free = unboundVolume(holdFor(makeVolume("a"), makeClaim()));
    expect(free.spec?.claimRef).toBeUndefined();
    expect(free.metadata.annotations).toEqual({});
  });
});

describe("a local volume", () => {
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "node-1", labels: { "kubernetes.io/hostname": "host-1" } },
  };
  const standard = standardClass([]);
  if (!standard) throw new Error("no class");
  const volume = makeLocalVolume({ claim: makeClaim(), storageClass: standard, node, directory: "/data" });

  test("is a directory on one node", () => {
    expect(volume).toMatchObject({
      metadata: {
        name: "pvc-c1a1",
        annotations: { "pv.kubernetes.io/provisioned-by": "kindling.dev/local" },
        finalizers: ["kubernetes.io/pv-protection", "kindling.dev/local-volume"],
      },
      spec: {
        ...heldForData,
        capacity: { storage: "1Gi" },
        persistentVolumeReclaimPolicy: "Delete",
        hostPath: { path: "/data/pvc-c1a1", type: "DirectoryOrCreate" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: ["host-1"] }] },
            ],
          },
        },
      },
    });
  });

  const hostile: [string, PersistentVolume][] = [
    ["another path", { ...volume, spec: { ...volume.spec, hostPath: { path: "/etc" } } }],
    [
      "a path that leaves its directory",
      { ...volume, spec: { ...volume.spec, hostPath: { path: "/data/pvc-c1a1/../x" } } },
    ],
    ["the parent directory", { ...volume, metadata: { name: "" }, spec: { hostPath: { path: "/data" } } }],
    [
      "a name that was not generated",
      { ...volume, metadata: { name: "mine" }, spec: { hostPath: { path: "/data/mine" } } },
    ],
    ["no path", { ...volume, spec: {} }],
  ];
  test("has a directory that may be removed", () => {
    expect(ownDirectoryOf(volume, "/data")).toBe("/data/pvc-c1a1");
  });
  test.each(hostile)("with %s has no directory to remove", (_, other) => {
    expect(ownDirectoryOf(other, "/data")).toBeUndefined();
  });

  const unfit: [string, PersistentVolumeClaim, RegExp][] = [
    ["blocks", makeClaim({ volumeMode: "Block" }), /volumeMode Filesystem/],
    ["ReadWriteMany", makeClaim({ accessModes: ["ReadWriteMany"] }), /ReadWriteOnce and ReadWriteOncePod/],
    ["a selector", makeClaim({ selector: {} }), /spec.selector/],
    [
      "a data source",
      makeClaim({ dataSource: { kind: "PersistentVolumeClaim", name: "x" } }),
      /spec.dataSource/,
    ],
  ];
  test.each(unfit)("is not provisioned for a claim with %s", (_, claim, expected) => {
    expect(localVolumeProblem(claim, standard)).toMatch(expected);
  });
  test("is not provisioned with mount options", () => {
    expect(localVolumeProblem(makeClaim(), { ...standard, mountOptions: ["ro"] })).toBe(
      'Mount options are not supported by the provisioner but StorageClass "standard" has mount options [ro]',
    );
    expect(localVolumeProblem(makeClaim(), standard)).toBeUndefined();
  });

  test("has a StorageClass, which is the default if there is no other", () => {
    expect(standard.metadata.annotations).toEqual({ "storageclass.kubernetes.io/is-default-class": "true" });
    const own = makeClass("own", { metadata: { name: "own", annotations: standard.metadata.annotations } });
    expect(standardClass([own])?.metadata.annotations).toBeUndefined();
    expect(standardClass([makeClass("standard")])).toBeUndefined();
  });
});
