import { expect, test } from "vitest";
import { createPlanRetry, type PodAction, type PodPlan } from "./pod-plan.ts";

const plan = (...actions: PodAction[]): PodPlan => ({
  done: false,
  actions,
  crashLoops: new Map(),
  decideAgainAt: undefined,
});
const sandbox = (attempt: number) => plan({ kind: "createSandbox", attempt });

test("backs off a failed plan regardless of its attempt and does not delay another plan", () => {
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

test("resets the back-off when the failure is forgotten", () => {
  const retry = createPlanRetry({ now: () => 0 });
  retry.failed(sandbox(0));
  retry.failed(sandbox(0));
  retry.forget();
  expect(retry.earliest(sandbox(0))).toBe(0);
  retry.failed(sandbox(0));
  expect(retry.earliest(sandbox(0))).toBe(500);
});
