import { describe, expect, test } from "vitest";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "../../api/objects.ts";
import { holdFor } from "../../api/volume-binding.ts";
import { claimBoundTo, claimInPhase, volumeInPhase, volumeLetGo } from "./bound-objects.ts";
import { decideReclaim, decideVolume } from "./decide-volume.ts";
import { standardClass } from "./default-class.ts";
import { makeLocalVolume, ownDirectoryOf, whyNotLocal } from "./local-volume.ts";
import { decideClaimProtection, decideVolumeProtection, type Protection } from "./protection.ts";
import { heldForData, makeBoundClaim, makeClaim, makeClass, makeVolume } from "./volumes.fixture.ts";

const provisioned = (by: string) => ({ annotations: { "pv.kubernetes.io/provisioned-by": by } });
const byController = { annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } };
const disposable = { persistentVolumeReclaimPolicy: "Delete" };

describe("a volume", () => {
  const cases: [string, PersistentVolume, PersistentVolumeClaim | undefined, object][] = [
    ["nobody holds is free", makeVolume("a"), undefined, { kind: "phase", phase: "Available" }],
    [
      "a person holds for a claim to come is free",
      makeVolume("a", { claimRef: { namespace: "default", name: "data" } }),
      undefined,
      { kind: "phase", phase: "Available" },
    ],
    ["whose claim is gone is released", makeVolume("a", heldForData), undefined, { kind: "release" }],
    [
      "whose claim is another one of that name is released",
      makeVolume("a", heldForData),
      makeClaim({}, { uid: "later" }),
      { kind: "release" },
    ],
    ["whose claim does not know wakes it", makeVolume("a", heldForData), makeClaim(), { kind: "wakeClaim" }],
    [
      "of another mode does not fit",
      makeVolume("a", heldForData),
      makeClaim({ volumeMode: "Block" }),
      { kind: "mismatch" },
    ],
    [
      "whose claim names it is bound",
      makeVolume("a", heldForData),
      makeBoundClaim("a"),
      { kind: "phase", phase: "Bound" },
    ],
    [
      "whose claim has another is let go",
      makeVolume("a", heldForData),
      makeBoundClaim("b"),
      { kind: "letGo" },
    ],
    [
      "that was made for a claim that has another is released",
      makeVolume("a", { ...heldForData, ...disposable }, provisioned("x")),
      makeBoundClaim("b"),
      { kind: "release" },
    ],
  ];
  test.each(cases)("%s", (_, volume, claim, expected) => {
    expect(decideVolume(volume, claim)).toEqual(expected);
  });
});

describe("data that nobody claims", () => {
  const cases: [string, PersistentVolume, string][] = [
    ["stays", makeVolume("a"), "leave"],
    [
      "of the local provisioner goes",
      makeVolume("a", disposable, provisioned("kindling.dev/local")),
      "removeLocal",
    ],
    [
      "of other provisioners is theirs",
      makeVolume("a", disposable, provisioned("example.com/disks")),
      "leave",
    ],
    [
      "of a CSI driver is its",
      makeVolume("a", { ...disposable, hostPath: undefined, csi: { driver: "d", volumeHandle: "h" } }),
      "leave",
    ],
    ["of a person's directory cannot be deleted here", makeVolume("a", disposable), "VolumeFailedDelete"],
    ["is not recycled", makeVolume("a", { persistentVolumeReclaimPolicy: "Recycle" }), "VolumeFailedRecycle"],
    [
      "of an unknown policy is left",
      makeVolume("a", { persistentVolumeReclaimPolicy: "?" }),
      "VolumeUnknownReclaimPolicy",
    ],
  ];
  test.each(cases)("%s", (_, volume, expected) => {
    const reclaim = decideReclaim(volume);
    expect(reclaim.kind === "fail" ? reclaim.reason : reclaim.kind).toBe(expected);
  });
});

describe("protection", () => {
  const pod = (claimName: string, nodeName?: string) =>
    ({
      metadata: { namespace: "default" },
      spec: { nodeName, volumes: [{ name: "v", persistentVolumeClaim: { claimName } }] },
    }) as Pod;
  const finalizers = ["kubernetes.io/pvc-protection"];
  const cases: [string, Partial<PersistentVolumeClaim["metadata"]>, Pod[], Protection][] = [
    ["is given", {}, [], "add"],
    ["is there", { finalizers }, [], "keep"],
    ["is taken from one that goes", { finalizers, deletionTimestamp: "x" }, [], "remove"],
    ["is kept while a pod uses it", { finalizers, deletionTimestamp: "x" }, [pod("data", "node-1")], "keep"],
    ["is not kept for a pod without a node", { finalizers, deletionTimestamp: "x" }, [pod("data")], "remove"],
    [
      "is not kept for a pod of another claim",
      { finalizers, deletionTimestamp: "x" },
      [pod("other", "n")],
      "remove",
    ],
    ["is not given to one that goes", { deletionTimestamp: "x" }, [], "keep"],
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
  test("is four writes, and none when it is done", () => {
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
  test("that a person began is not taken for ours", () => {
    const held = holdFor(makeVolume("a", { claimRef: { namespace: "default", name: "data" } }), makeClaim());
    expect(held.metadata.annotations).toBeUndefined();
    expect(held.spec?.claimRef?.uid).toBe("c1a1");
    expect(volumeLetGo(held).spec?.claimRef).toMatchObject({ name: "data" });
    expect(volumeLetGo(held).spec?.claimRef?.uid).toBeUndefined();
    expect(claimBoundTo(makeClaim({ volumeName: "a" }), held).metadata.annotations).toEqual({
      "pv.kubernetes.io/bind-completed": "yes",
    });
  });
  test("that is undone leaves nothing behind", () => {
    const free = volumeLetGo(holdFor(makeVolume("a"), makeClaim()));
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
    ["a way out", { ...volume, spec: { ...volume.spec, hostPath: { path: "/data/pvc-c1a1/../x" } } }],
    ["all of them", { ...volume, metadata: { name: "" }, spec: { hostPath: { path: "/data" } } }],
    [
      "a name of its own",
      { ...volume, metadata: { name: "mine" }, spec: { hostPath: { path: "/data/mine" } } },
    ],
    ["no path", { ...volume, spec: {} }],
  ];
  test("has a directory that may be removed", () => {
    expect(ownDirectoryOf(volume, "/data")).toBe("/data/pvc-c1a1");
  });
  test.each(hostile)("with %s has none", (_, other) => {
    expect(ownDirectoryOf(other, "/data")).toBeUndefined();
  });

  const unfit: [string, PersistentVolumeClaim, RegExp][] = [
    ["blocks", makeClaim({ volumeMode: "Block" }), /volumeMode Filesystem/],
    ["many writers", makeClaim({ accessModes: ["ReadWriteMany"] }), /ReadWriteOnce and ReadWriteOncePod/],
    ["a selector", makeClaim({ selector: {} }), /spec.selector/],
    ["a copy", makeClaim({ dataSource: { kind: "PersistentVolumeClaim", name: "x" } }), /spec.dataSource/],
  ];
  test.each(unfit)("is not what %s want", (_, claim, expected) => {
    expect(whyNotLocal(claim, standard)).toMatch(expected);
  });
  test("is mounted without options", () => {
    expect(whyNotLocal(makeClaim(), { ...standard, mountOptions: ["ro"] })).toBe(
      'Mount options are not supported by the provisioner but StorageClass "standard" has mount options [ro]',
    );
    expect(whyNotLocal(makeClaim(), standard)).toBeUndefined();
  });

  test("has a class, which is the default where there is no other", () => {
    expect(standard.metadata.annotations).toEqual({ "storageclass.kubernetes.io/is-default-class": "true" });
    const own = makeClass("own", { metadata: { name: "own", annotations: standard.metadata.annotations } });
    expect(standardClass([own])?.metadata.annotations).toBeUndefined();
    expect(standardClass([makeClass("standard")])).toBeUndefined();
  });
});
