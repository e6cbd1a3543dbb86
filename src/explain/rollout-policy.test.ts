import { describe, expect, test } from "vitest";
import { progressDeadlineOf, unstickPolicyOf } from "./rollout-policy.ts";

const set = (annotations?: Record<string, string>) => ({ metadata: { name: "web", annotations } });

describe("the unstick policy", () => {
  test.each([
    [undefined, "always"],
    ["always", "always"],
    ["permanent-only", "permanent-only"],
    ["never", "never"],
  ])("of %j is %s", (value, policy) => {
    expect(unstickPolicyOf(set(value === undefined ? {} : { "kindling.dev/unstick": value }))).toEqual({
      policy,
    });
  });

  test("of a set without annotations is always", () => {
    expect(unstickPolicyOf(set())).toEqual({ policy: "always" });
  });

  test.each(["sometimes", "", "Never", "toString"])(
    "of the unknown value %j is never, with a reason",
    (value) => {
      expect(unstickPolicyOf(set({ "kindling.dev/unstick": value }))).toEqual({
        policy: "never",
        invalid: { reason: "InvalidUnstickPolicy", message: expect.stringContaining(JSON.stringify(value)) },
      });
    },
  );

  test("shortens a long value in the message", () => {
    const { invalid } = unstickPolicyOf(set({ "kindling.dev/unstick": "x".repeat(200_000) }));
    expect(invalid?.message.length).toBeLessThan(300);
  });
});

describe("the progress deadline", () => {
  test.each([
    [undefined, 600_000],
    ["1", 1_000],
    ["3600", 3_600_000],
    ["2147483647", 2_147_483_647_000],
  ])("of %j is %d ms", (value, progressDeadlineMs) => {
    const annotations = value === undefined ? undefined : { "kindling.dev/progress-deadline-seconds": value };
    expect(progressDeadlineOf(set(annotations))).toEqual({ progressDeadlineMs });
  });

  test.each(["0", "-1", "1.5", "10m", "", "1e3", "2147483648", " 5"])(
    "of %j is the default, with a reason",
    (value) => {
      expect(progressDeadlineOf(set({ "kindling.dev/progress-deadline-seconds": value }))).toEqual({
        progressDeadlineMs: 600_000,
        invalid: {
          reason: "InvalidProgressDeadline",
          message: expect.stringContaining(JSON.stringify(value)),
        },
      });
    },
  );
});
