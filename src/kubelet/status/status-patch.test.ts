import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/feature-gates.ts";
import type { PodStatus } from "../../api/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { generatePodStatus } from "./generate-pod-status.ts";
import { isOwnedCondition } from "./owned-conditions.ts";
import { exited, makeFacts, observe, observedContainer, running, sandbox } from "./status.fixture.ts";
import { statusPatch } from "./status-patch.ts";

const owned = (type: string) => isOwnedCondition(type, defaultFeatures);

test("nothing has changed: nothing is sent, however it is written", () => {
  const status: PodStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }], podIPs: [] };
  const has = JSON.parse(
    '{"qosClass":"Burstable","phase":"Running","conditions":[{"lastProbeTime":null,"status":"True","type":"Ready"}]}',
  );
  expect(statusPatch(status, has, owned)).toBeUndefined();
});

test("only what changed, conditions by type and field", () => {
  const has: PodStatus = {
    phase: "Pending",
    startTime: "2022-12-06T15:33:47Z",
    conditions: [
      {
        type: "Ready",
        status: "False",
        reason: "ContainersNotReady",
        message: "no",
        lastTransitionTime: "a",
      },
      { type: "Initialized", status: "True" },
    ],
  };
  const want: PodStatus = {
    ...has,
    phase: "Running",
    conditions: [
      { type: "Ready", status: "True", lastTransitionTime: "b" },
      { type: "Initialized", status: "True" },
    ],
  };
  expect(statusPatch(want, has, owned)).toEqual({
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", reason: null, message: null, lastTransitionTime: "b" }],
  });
});

test("a new condition says where it belongs", () => {
  const want: PodStatus = {
    conditions: [
      { type: "PodReadyToStartContainers", status: "True" },
      { type: "PodScheduled", status: "True" },
    ],
  };
  expect(statusPatch(want, { conditions: [{ type: "PodScheduled", status: "True" }] }, owned)).toEqual({
    conditions: [{ type: "PodReadyToStartContainers", status: "True" }],
    "$setElementOrder/conditions": [{ type: "PodReadyToStartContainers" }, { type: "PodScheduled" }],
  });
});

test("what others own is not touched, though our copy of it is old", () => {
  const want: PodStatus = { conditions: [{ type: "example.com/lb", status: "False" }] };
  const has: PodStatus = {
    conditions: [{ type: "example.com/lb", status: "True" }],
    nominatedNodeName: "n",
    qosClass: "Burstable",
    resize: "Proposed",
  };
  expect(statusPatch(want, has, owned)).toBeUndefined();
});

test("3085-7 a condition behind a gate that is off is not touched", () => {
  const off = { ...defaultFeatures, PodReadyToStartContainersCondition: false };
  const condition = (status: string) => ({ conditions: [{ type: "PodReadyToStartContainers", status }] });
  const patch = statusPatch(condition("False"), condition("True"), (type) => isOwnedCondition(type, off));
  expect(patch).toBeUndefined();
});

const states = fc.constantFrom(undefined, running, exited(0), exited(1), { kind: "created" } as const);
const aStatus = fc
  .record({
    web: states,
    sandboxReady: fc.boolean(),
    ips: fc.subarray(["10.0.0.5", "fd00::5", "10.0.0.6"]),
    problem: fc.constantFrom(undefined, "ErrImagePull", "InvalidImageName"),
    ready: fc.boolean(),
  })
  .map(({ web, sandboxReady, ips, problem, ready }) =>
    generatePodStatus(
      makeFacts({
        observed: observe(web ? [observedContainer("web", web)] : [], [
          sandbox({ ready: sandboxReady, ips }),
        ]),
        problems: new Map(problem ? [["web", { reason: problem, message: "m" }]] : []),
        verdict: () => ({ started: true, ready }),
      }),
    ),
  );

test("applied to what was there, a patch makes what is wanted of it", () => {
  fc.assert(
    fc.property(aStatus, aStatus, (has, want) => {
      const patch = statusPatch(want, has, owned) ?? {};
      const status = applyStrategicMergePatch("core.v1.PodStatus", plain(has), plain(patch));
      expect(status).toEqual(plain(want));
      expect(statusPatch(want, status, owned)).toBeUndefined();
    }),
  );
});

function plain(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}
