import { describe, expect, test } from "vitest";
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/objects.ts";
import { type ClaimPlan, decideClaim } from "./decide-claim.ts";
import { findVolume } from "./match-volume.ts";
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
function draw(plan: ClaimPlan): string {
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
    "nothing to have",
    makeClaim(),
    {},
    "Pending FailedBinding: no persistent volumes available for this claim and no storage class is set",
  ],
  ["a free volume", makeClaim(), { volumes: [makeVolume("a")] }, "bind a"],
  [
    "one that is held for another",
    makeClaim(),
    { volumes: [makeVolume("a", other), makeVolume("b")] },
    "bind b",
  ],
  [
    "one that is held for it",
    makeClaim(),
    { volumes: [makeVolume("a"), makeVolume("b", byPerson)] },
    "bind b",
  ],
  [
    "one that was held for it before a crash",
    makeClaim(),
    { volumes: [makeVolume("a"), makeVolume("b", heldForData)] },
    "bind b",
  ],
  [
    "a class that makes volumes",
    makeClaim({ storageClassName: "fast" }),
    { classes: [makeClass("fast")] },
    "provision fast",
  ],
  [
    "a class that is not there",
    makeClaim({ storageClassName: "fast" }),
    {},
    'Pending ProvisioningFailed: storageclass.storage.k8s.io "fast" not found',
  ],
  [
    "no class, where there is a default",
    makeClaim({ storageClassName: undefined }),
    { classes: [makeClass("fast", { metadata: { name: "fast", ...isDefault } })] },
    "assign fast",
  ],
  [
    "the empty class, where there is a default",
    makeClaim(),
    {
      classes: [makeClass("fast", { metadata: { name: "fast", ...isDefault } })],
      volumes: [makeVolume("a")],
    },
    "bind a",
  ],
  [
    "a class that waits for a pod",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], volumes: [makeVolume("a", { storageClassName: "lazy" })] },
    "Pending WaitForFirstConsumer: waiting for first consumer to be created before binding",
  ],
  [
    "a class that waits, and a pod that does",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], pods: ["web-0"] },
    "Pending WaitForPodScheduled: waiting for pod web-0 to be scheduled",
  ],
  [
    "a class that waits, and pods that do",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], pods: ["a", "b"] },
    "Pending WaitForPodScheduled: waiting for pods a,b to be scheduled",
  ],
  [
    "a class that waits, and a node",
    makeClaim({ storageClassName: "lazy" }, selected),
    { classes: [lazy] },
    "provision lazy",
  ],
  [
    "a class that waits, and the scheduler's choice",
    makeClaim({ storageClassName: "lazy" }),
    { classes: [lazy], volumes: [makeVolume("a", { storageClassName: "lazy", ...heldForData })] },
    "bind a",
  ],
  ["a claim that goes", makeClaim({}, { deletionTimestamp: "x" }), { volumes: [makeVolume("a")] }, "none"],

  ["a name that is not there", makeClaim({ volumeName: "a" }), {}, "Pending"],
  ["a name", makeClaim({ volumeName: "b" }), { volumes: [makeVolume("a"), makeVolume("b")] }, "bind b"],
  [
    "a name, held for it",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", heldForData)] },
    "bind a",
  ],
  [
    "a name that is too small",
    makeClaim({ volumeName: "a", resources: { requests: { storage: "2Gi" } } }),
    { volumes: [makeVolume("a")] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": requested PV is too small',
  ],
  [
    "a name of another class",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", { storageClassName: "fast" })] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": storageClassName does not match',
  ],
  [
    "a name with other modes",
    makeClaim({ volumeName: "a", accessModes: ["ReadWriteMany"] }),
    { volumes: [makeVolume("a")] },
    'Pending VolumeMismatch: Cannot bind to requested volume "a": incompatible accessMode',
  ],
  [
    "a name that is taken",
    makeClaim({ volumeName: "a" }),
    { volumes: [makeVolume("a", other)] },
    'Pending FailedBinding: volume "a" already bound to a different claim.',
  ],
  [
    "a name that was given here, and is taken",
    makeClaim({ volumeName: "a" }, byController),
    { volumes: [makeVolume("a", other)] },
    'fail invalid binding of claim "default/data" to volume "a": volume already claimed by "default/other"',
  ],

  ["all in order", makeBoundClaim("a"), { volumes: [makeVolume("a", heldForData)] }, "bind a"],
  ["a volume that has forgotten it", makeBoundClaim("a"), { volumes: [makeVolume("a")] }, "bind a"],
  [
    "a volume that is gone",
    makeBoundClaim("a"),
    {},
    "Lost ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!",
  ],
  [
    "a name that is gone",
    makeBoundClaim(undefined),
    {},
    "Lost ClaimLost: Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
  ],
  [
    "somebody else's volume",
    makeBoundClaim("a"),
    { volumes: [makeVolume("a", other)] },
    "Lost ClaimMisbound: Two claims are bound to the same volume, this one is bound incorrectly",
  ],
];

describe("a claim and", () => {
  test.each(cases)("%s", (_, claim, given, expected) => {
    expect(draw(decide(claim, given))).toBe(expected);
  });
});

describe("of several volumes", () => {
  const sized = (name: string, storage: string) => makeVolume(name, { capacity: { storage } });
  const cases: [string, PersistentVolumeClaim, PersistentVolume[], string | undefined][] = [
    [
      "the smallest that is large enough",
      makeClaim(),
      [sized("a", "5Gi"), sized("b", "500Mi"), sized("c", "2Gi")],
      "c",
    ],
    [
      "the one with the fewest modes",
      makeClaim(),
      [makeVolume("a", { accessModes: ["ReadWriteOnce", "ReadOnlyMany"] }), sized("b", "9Gi")],
      "b",
    ],
    ["none without the mode", makeClaim({ accessModes: ["ReadWriteMany"] }), [makeVolume("a")], undefined],
    ["none of another kind", makeClaim({ volumeMode: "Block" }), [makeVolume("a")], undefined],
    ["none of another class", makeClaim(), [makeVolume("a", { storageClassName: "fast" })], undefined],
    ["none that goes", makeClaim(), [makeVolume("a", {}, { deletionTimestamp: "x" })], undefined],
    ["none that was used", makeClaim(), [{ ...makeVolume("a"), status: { phase: "Released" } }], undefined],
    [
      "the one that is selected",
      makeClaim({ selector: { matchLabels: { tier: "gold" } } }),
      [makeVolume("a"), makeVolume("b", {}, { labels: { tier: "gold" } })],
      "b",
    ],
  ];
  test.each(cases)("%s", (_, claim, volumes, expected) => {
    expect(findVolume(claim, volumes, { heldOnly: false })?.metadata.name).toBe(expected);
  });
});
