import { describe, expect, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import { type ClaimPlan, decideClaim, findVolume } from "./decide-claim.ts";
import { heldForData, makeBoundClaim, makeClaim, makeClass, makeVolume } from "./volumes.fixture.ts";

interface Given {
  volumes?: PersistentVolume[];
  classes?: StorageClass[];
  pods?: string[];
}

function decide(
  claim: PersistentVolumeClaim,
  { volumes = [], classes = [], pods = [] }: Given = {},
): ClaimPlan {
  return decideClaim({
    claim,
    volume: (name) => volumes.find(({ metadata }) => metadata.name === name),
    volumes,
    classes,
    waitingPods: () => pods,
  });
}

/** `bind b`, `Pending VolumeMismatch: …`, `provision fast`. */
function describePlan(plan: ClaimPlan): string {
  switch (plan.kind) {
    case "bind":
      return `bind ${plan.volume.metadata.name}`;
    case "phase":
      return `${plan.phase}${plan.event ? ` ${plan.event.reason}: ${plan.event.message}` : ""}`;
    case "provision":
      return `provision ${plan.storageClass.metadata.name}`;
    case "assignClass":
      return `assign ${plan.className}`;
    case "fail":
      return `fail ${plan.message}`;
    case "none":
      return "none";
  }
}

const other = { claimRef: { namespace: "default", name: "other", uid: "other" } };
const byPerson = { claimRef: { namespace: "default", name: "data" } };
const lazy = makeClass("lazy", { volumeBindingMode: "WaitForFirstConsumer" });
const isDefault = { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } };
const selected = { annotations: { "volume.kubernetes.io/selected-node": "node-1" } };
const byController = { annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } };

const cases: [string, PersistentVolumeClaim, Given, string][] = [
  [
    "nothing available",
    makeClaim(),
    {},
    "Pending FailedBinding: no persistent volumes available for this claim and no storage class is set",
  ],
  ["a free volume", makeClaim(), { volumes: [makeVolume("a")] }, "bind a"],
  [
    "a volume that is reserved for another claim",
    makeClaim(),
    { volumes: [makeVolume("a", other), makeVolume("b")] },
    "bind b",
  ],
  [
    "a volume that is reserved for it",
    makeClaim(),
    { volumes: [makeVolume("a"), makeVolume("b", byPerson)] },
    "bind b",
  ],
  [
    "a volume that was bound to it before an interruption",
    makeClaim(),
    { volumes: [makeVolume("a"), makeVolume("b", heldForData)] },
    "bind b",
  ],
  [
    "a class with a provisioner",
    makeClaim({ storageClassName: "fast" }),
    { classes: [makeClass("fast")] },
    "provision fast",
  ],
  [
    "a class that does not exist",
    makeClaim({ storageClassName: "fast" }),
    {},
    'Pending ProvisioningFailed: storageclass.storage.k8s.io "fast" not found',
  ],
  [
    "no class and a default class",
    makeClaim({ storageClassName: undefined }),
    { classes: [makeClass("fast", { metadata: { name: "fast", ...isDefault } })] },
    "assign fast",
  ],
  [
    "the empty class and a default class",
    makeClaim(),
    {
      classes: [makeClass("fast", { metadata: { name: "fast", ...isDefault } })],
      volumes: [makeVolume("a")],
    },
    "bind a",
  ],
  [
    "WaitForFirstConsumer without pods",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], volumes: [makeVolume("a", { storageClassName: "lazy" })] },
    "Pending WaitForFirstConsumer: waiting for first consumer to be created before binding",
  ],
  [
    "WaitForFirstConsumer with a pending pod",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], pods: ["web-0"] },
    "Pending WaitForPodScheduled: waiting for pod web-0 to be scheduled",
  ],
  [
    "WaitForFirstConsumer with pending pods",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], pods: ["a", "b"] },
    "Pending WaitForPodScheduled: waiting for pods a,b to be scheduled",
  ],
  [
    "WaitForFirstConsumer with a selected node",
    makeClaim({ storageClassName: "lazy" }, selected),
    { classes: [lazy] },
    "provision lazy",
  ],
  [
    "WaitForFirstConsumer with a volume bound by the scheduler",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], volumes: [makeVolume("a", { storageClassName: "lazy", ...heldForData })] },
    "bind a",
  ],
  ["a deletion", makeClaim({}, { deletionTimestamp: "x" }), { volumes: [makeVolume("a")] }, "none"],

  ["a volumeName that does not exist", makeClaim({ volumeName: "a" }), {}, "Pending"],
  ["a volumeName", makeClaim({ volumeName: "b" }), { volumes: [makeVolume("a"), makeVolume("b")] }, "bind b"],
  [
    "a volumeName reserved for it",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", heldForData)] },
    "bind a",
  ],
  [
    "a volumeName that is too small",
    makeClaim({ volumeName: "a", resources: { requests: { storage: "2Gi" } } }),
    { volumes: [makeVolume("a")] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": requested PV is too small',
  ],
  [
    "a volumeName of another class",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", { storageClassName: "fast" })] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": storageClassName does not match',
  ],
  [
    "a volumeName with other access modes",
    makeClaim({ volumeName: "a", accessModes: ["ReadWriteMany"] }),
    { volumes: [makeVolume("a")] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": incompatible accessMode',
  ],
  [
    "a volumeName that is bound to another claim",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", other)] },
    'Pending FailedBinding: volume "a" already bound to a different claim.',
  ],
  [
    "a volumeName set by the controller that is bound to another claim",
    makeClaim({ volumeName: "a" }, byController),
    { volumes: [makeVolume("a", other)] },
    'fail invalid binding of claim "default/data" to volume "a": volume already claimed by "default/other"',
  ],

  ["a complete binding", makeBoundClaim("a"), { volumes: [makeVolume("a", heldForData)] }, "bind a"],
  ["a volume without claimRef", makeBoundClaim("a"), { volumes: [makeVolume("a")] }, "bind a"],
  [
    "a bound volume that was deleted",
    makeBoundClaim("a"),
    {},
    "Lost ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!",
  ],
  [
    "a lost volumeName",
    makeBoundClaim(undefined),
    {},
    "Lost ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
  ],
  [
    "a volume that is bound to another claim",
    makeBoundClaim("a"),
    { volumes: [makeVolume("a", other)] },
    "Lost ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly",
  ],
];

describe("decideClaim for a claim and", () => {
  test.each(cases)("%s", (_, claim, given, expected) => {
    expect(describePlan(decide(claim, given))).toBe(expected);
  });
});

describe("findVolume chooses", () => {
  const sized = (name: string, storage: string) => makeVolume(name, { capacity: { storage } });
  const cases: [string, PersistentVolumeClaim, PersistentVolume[], string | undefined][] = [
    [
      "the smallest that is large enough",
      makeClaim(),
      [sized("a", "5Gi"), sized("b", "500Mi"), sized("c", "2Gi")],
      "c",
    ],
    [
      "the one with the fewest access modes",
      makeClaim(),
      [makeVolume("a", { accessModes: ["ReadWriteOnce", "ReadOnlyMany"] }), sized("b", "9Gi")],
      "b",
    ],
    [
      "none without the access mode",
      makeClaim({ accessModes: ["ReadWriteMany"] }),
      [makeVolume("a")],
      undefined,
    ],
    ["none of another volume mode", makeClaim({ volumeMode: "Block" }), [makeVolume("a")], undefined],
    ["none of another class", makeClaim(), [makeVolume("a", { storageClassName: "fast" })], undefined],
    ["none that is being deleted", makeClaim(), [makeVolume("a", {}, { deletionTimestamp: "x" })], undefined],
    [
      "none that was released",
      makeClaim(),
      [{ ...makeVolume("a"), status: { phase: "Released" } }],
      undefined,
    ],
    [
      "one that matches the selector",
      makeClaim({ selector: { matchLabels: { tier: "gold" } } }),
      [makeVolume("a"), makeVolume("b", {}, { labels: { tier: "gold" } })],
      "b",
    ],
  ];
  test.each(cases)("%s", (_, claim, volumes, expected) => {
    expect(findVolume(claim, volumes, { heldOnly: false })?.metadata.name).toBe(expected);
  });
});
