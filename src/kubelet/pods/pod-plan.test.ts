import { expect, test } from "vitest";
import type { ObservedContainer } from "../model/observed-pod.ts";
import {
  crashLoopMessage,
  createPlanRetry,
  type PodAction,
  type PodPlan,
  restartDelayMs,
} from "./pod-plan.ts";

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

const minute = 60_000;
const now = 100 * minute;

function ended(restartDelayMs: number, ranForMs: number | "never"): ObservedContainer {
  const startedAtMs = ranForMs === "never" ? 0 : now - ranForMs;
  return {
    restartDelayMs,
    state: { kind: "exited", startedAtMs, finishedAtMs: now, exitCode: 1, reason: "Error", message: "" },
  } as ObservedContainer;
}

test.each([
  { why: "restarts immediately after the first exit", made: ended(0, 1_000), nowMs: 0, nextMs: 10_000 },
  {
    why: "doubles the delay after each exit",
    made: ended(10_000, 1_000),
    nowMs: 10_000,
    nextMs: 20_000,
  },
  { why: "up to the limit", made: ended(240_000, 1_000), nowMs: 240_000, nextMs: 300_000 },
  { why: "and not beyond", made: ended(300_000, 1_000), nowMs: 300_000, nextMs: 300_000 },
  {
    why: "just not long enough to be stable",
    made: ended(40_000, 10 * minute),
    nowMs: 40_000,
    nextMs: 80_000,
  },
  {
    why: "resets the delay of a stable container",
    made: ended(40_000, 10 * minute + 1),
    nowMs: 0,
    nextMs: 10_000,
  },
  {
    why: "one that never started was not stable",
    made: ended(40_000, "never"),
    nowMs: 40_000,
    nextMs: 80_000,
  },
  {
    why: "starts at once after its sandbox was lost",
    made: ended(0, 1_000),
    sandboxLost: true,
    nowMs: 0,
    nextMs: 0,
  },
  {
    why: "continues a crash loop where it was after its sandbox was lost",
    made: ended(40_000, 1_000),
    sandboxLost: true,
    nowMs: 0,
    nextMs: 40_000,
  },
])("$why", ({ made, sandboxLost = false, nowMs, nextMs }) => {
  expect(restartDelayMs(made, { sandboxLost, maxDelayMs: 5 * minute })).toEqual({ nowMs, nextMs });
});

test("a smaller limit applies to containers created under a larger one", () => {
  expect(restartDelayMs(ended(300_000, 1), { sandboxLost: false, maxDelayMs: 5_000 })).toEqual({
    nowMs: 5_000,
    nextMs: 5_000,
  });
});

test.each([
  [0, "0s"],
  [10_000, "10s"],
  [80_000, "1m20s"],
  [300_000, "5m0s"],
])("%i ms is %s", (ms, text) => {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "n", uid: "u" } };
  expect(crashLoopMessage(pod, "c", ms)).toBe(`back-off ${text} restarting failed container=c pod=p_n(u)`);
});
