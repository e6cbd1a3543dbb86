import { expect, test } from "vitest";
import { createPlanRetry } from "./plan-retry.ts";
import type { PodAction, PodPlan } from "./pod-plan.ts";

const plan = (...actions: PodAction[]): PodPlan => ({
  done: false,
  actions,
  crashLoops: new Map(),
  decideAgainAt: undefined,
});
const sandbox = (attempt: number) => plan({ kind: "createSandbox", attempt });

test("the same plan waits longer each time, whatever attempt it is; another one does not wait", () => {
  let now = 1_000;
  const retry = createPlanRetry({ now: () => now });
  expect(retry.earliest(sandbox(0))).toBe(0);
  retry.failed(sandbox(0));
  expect(retry.earliest(sandbox(1))).toBe(1_500);
  now = 1_500;
  retry.failed(sandbox(1));
  expect(retry.earliest(sandbox(2))).toBe(2_500);
  expect(retry.earliest(plan())).toBe(0);
});

test("what is forgotten may run at once, and begins anew", () => {
  const retry = createPlanRetry({ now: () => 0 });
  retry.failed(sandbox(0));
  retry.failed(sandbox(0));
  retry.forget();
  expect(retry.earliest(sandbox(0))).toBe(0);
  retry.failed(sandbox(0));
  expect(retry.earliest(sandbox(0))).toBe(500);
});
