import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultFeatures } from "../../api/meta/feature-gates.ts";
import type { PodStatus } from "../../api/meta/objects.ts";
import { applyStrategicMergePatch } from "../../api/patch/strategic-merge-patch.ts";
import { builtInSchema } from "../../api/schema/built-in-schema.ts";
import { generatePodStatus } from "./generate-pod-status.ts";
import { isOwnedCondition } from "./pod-conditions.ts";
import { exited, makeFacts, observe, observedContainer, running, sandbox } from "./status.fixture.ts";
import { budgetWaitMs, fullBudget, spendOne, statusPatch, type WriteBudget } from "./status-write.ts";

const owned = (type: string) => isOwnedCondition(type, defaultFeatures);

test("sends nothing without a change", () => {
  const status: PodStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }], podIPs: [] };
  const has = JSON.parse(
    '{"qosClass":"Burstable","phase":"Running","conditions":[{"lastProbeTime":null,"status":"True","type":"Ready"}]}',
  );
  expect(statusPatch(status, has, owned)).toBeUndefined();
});

test("sends only changes, conditions by type and field", () => {
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

test("sends the order of the conditions with a new one", () => {
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

test("does not touch fields of other writers", () => {
  const want: PodStatus = { conditions: [{ type: "example.com/lb", status: "False" }] };
  const has: PodStatus = {
    conditions: [{ type: "example.com/lb", status: "True" }],
    nominatedNodeName: "n",
    qosClass: "Burstable",
    resize: "Proposed",
  };
  expect(statusPatch(want, has, owned)).toBeUndefined();
});

test("3085-7 does not touch a condition whose gate is off", () => {
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
        probeResult: () => ({ started: true, ready }),
      }),
    ),
  );

test("applying the patch gives the wanted status", () => {
  fc.assert(
    fc.property(aStatus, aStatus, (has, want) => {
      const patch = statusPatch(want, has, owned) ?? {};
      const status = applyStrategicMergePatch(builtInSchema, "core.v1.PodStatus", plain(has), plain(patch));
      expect(status).toEqual(plain(want));
      expect(statusPatch(want, status, owned)).toBeUndefined();
    }),
  );
});

function plain(value: unknown) {
  return JSON.parse(JSON.stringify(value));
}

function spend(count: number, now: number): WriteBudget {
  let budget = fullBudget(0);
  for (let i = 0; i < count; i++) budget = spendOne(budget, now);
  return budget;
}

test.each([
  ["the first goes at once", 0, 0, 0],
  ["and a burst after it", 9, 0, 0],
  ["then one a second", 10, 0, 1_000],
  ["the second is counted from the burst on", 10, 400, 600],
  ["and is over", 10, 1_000, 0],
])("%s", (_, spent, now, waitMs) => {
  expect(budgetWaitMs(spend(spent, 0), now)).toBe(waitMs);
});

test("a minute of constant changes allows a burst and one write a second", () => {
  let budget = fullBudget(0);
  let writes = 0;
  for (let now = 0; now < 60_000; now += 10) {
    if (budgetWaitMs(budget, now) > 0) continue;
    budget = spendOne(budget, now);
    writes++;
  }
  expect(writes).toBe(10 + 59);
});

test("a clock that was set back does not delay writes", () => {
  const budget = spend(10, 1_000_000);
  expect(budgetWaitMs(budget, 0)).toBeLessThanOrEqual(1_000);
});
