import { expect, test } from "vitest";
import { decide, enforced, now, parallel, permanentOnly } from "./stateful-set.fixture.ts";

test.each([
  [{}, ["0 new ready", "1 new ready", "2 new ready"], "True", "RolloutComplete", "3 pods run new"],
  [
    { partition: 2 },
    ["0 old ready", "1 old ready", "2 new ready"],
    "True",
    "RolloutComplete",
    "1 pods run new, 2 below the partition",
  ],
  [{}, [], "True", "CreatingPods", "0 of 3 pods are created"],
  [
    {},
    ["0 new coming"],
    "True",
    "ContainerCreating",
    "waiting for pod web-0: container c: ContainerCreating",
  ],
  [{}, ["0 new ready", "1 new going"], "True", "PodTerminating", "waiting for pod web-1: is being deleted"],
  [
    {},
    ["0 old ready", "1 old ready", "2 old ready"],
    "True",
    "UpdatingPods",
    "3 of 3 pods do not run new yet",
  ],
  [{ replicas: 1 }, ["0 new ready", "1 new ready"], "True", "ScalingDown", "1 pods more than wanted"],
  [
    { type: "OnDelete", replicas: 1 },
    ["0 old ready"],
    "True",
    "WaitingForDelete",
    "1 of 1 pods do not run new yet",
  ],
  [
    {},
    ["0 new ready", "1 new failing"],
    "False",
    "ImagePullBackOff",
    "pod web-1 holds up the set: container c: ImagePullBackOff",
  ],
  [
    {},
    ["0 old ready", "1 old ready", "2 old permanent"],
    "False",
    "InvalidImageName",
    "pod web-2 holds up the set: container c: InvalidImageName; it runs old instead of new, and RollingUpdate does not replace it: delete the pod, or use EnforcedRollingUpdate",
  ],
  // Nobody waits for a pod that is replaced anyway.
  [
    enforced,
    ["0 old failing", "1 old failing", "2 new coming"],
    "True",
    "ContainerCreating",
    "waiting for pod web-2: container c: ContainerCreating",
  ],
  [
    enforced,
    ["0 old failing", "1 old ready", "2 new failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 holds up the set: container c: ImagePullBackOff",
  ],
  [
    permanentOnly,
    ["0 old ready", "1 old ready", "2 old failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 holds up the set: container c: ImagePullBackOff",
  ],
  [
    permanentOnly,
    ["0 old ready", "1 old ready", "2 old permanent+pulling"],
    "False",
    "InvalidImageName",
    "pod web-2 holds up the set: container c: InvalidImageName",
  ],
  [
    { type: "OnDelete" },
    ["0 old ready", "1 old ready", "2 old failing"],
    "False",
    "ImagePullBackOff",
    "pod web-2 holds up the set: container c: ImagePullBackOff; it runs old instead of new, and OnDelete does not replace it: delete the pod, or use EnforcedRollingUpdate",
  ],
  [
    parallel,
    ["0 new ready", "1 new failing", "2 new coming"],
    "False",
    "ImagePullBackOff",
    "pod web-1 holds up the set: container c: ImagePullBackOff",
  ],
] as const)("Progressing of %j %j: %s, %s", (options, pods, status, reason, message) => {
  expect(decide(options, pods).status.conditions).toEqual([
    {
      type: "Progressing",
      status,
      reason,
      message,
      lastTransitionTime: new Date(now).toISOString().replace(".000", ""),
    },
  ]);
});
