import { expect, test } from "vitest";
import type { PodSpec } from "../../api/meta/objects.ts";
import { makePod } from "../../api/pod/pod.fixture.ts";
import { setDefaultTolerations } from "./object-defaults.ts";

const notReady = {
  key: "node.kubernetes.io/not-ready",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
};
const unreachable = { ...notReady, key: "node.kubernetes.io/unreachable" };

test.each<[NonNullable<PodSpec["tolerations"]>, object[]]>([
  [[], [notReady, unreachable]],
  [[{ operator: "Exists" }], []],
  [[{ operator: "Exists", effect: "NoSchedule" }], [notReady, unreachable]],
  [[{ ...notReady, tolerationSeconds: 5 }], [unreachable]],
  [[{ key: "other", operator: "Exists" }], [notReady, unreachable]],
])("beside %j", (tolerations, added) => {
  const pod = makePod({ tolerations });
  setDefaultTolerations(pod);
  expect(pod.spec?.tolerations).toEqual([...tolerations, ...added]);
  setDefaultTolerations(pod);
  expect(pod.spec?.tolerations).toEqual([...tolerations, ...added]);
});
