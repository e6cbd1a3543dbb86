import { describe, expect, test } from "vitest";
import type { PodSpec, PriorityClass } from "../../api/meta/objects.ts";
import { makePod } from "../../api/pod/pod.fixture.ts";
import { checkPriorityClass, setPriority } from "./object-defaults.ts";

function makeClass(name: string, value: number, fields: Partial<PriorityClass> = {}): PriorityClass {
  const kind = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass" };
  return { ...kind, metadata: { name }, value, preemptionPolicy: "PreemptLowerPriority", ...fields };
}

const high = makeClass("high", 1000, { preemptionPolicy: "Never" });
const usual = makeClass("usual", 10, { globalDefault: true });
const other = makeClass("other", 20, { globalDefault: true });

describe("setPriority", () => {
  test.each<[Partial<PodSpec>, PriorityClass[], Partial<PodSpec>]>([
    [{}, [], { priority: 0, preemptionPolicy: "PreemptLowerPriority" }],
    [
      {},
      [high, other, usual],
      { priorityClassName: "usual", priority: 10, preemptionPolicy: "PreemptLowerPriority" },
    ],
    [
      { priorityClassName: "high" },
      [high, usual],
      { priorityClassName: "high", priority: 1000, preemptionPolicy: "Never" },
    ],
    [{ priority: 0 }, [], { priority: 0, preemptionPolicy: "PreemptLowerPriority" }],
  ])("%j", (spec, classes, expected) => {
    const pod = makePod(spec);
    expect(setPriority(pod, classes)).toBeUndefined();
    const { priorityClassName, priority, preemptionPolicy } = pod.spec ?? {};
    expect({ priorityClassName, priority, preemptionPolicy }).toEqual(expected);
  });

  test.each<[Partial<PodSpec>, string]>([
    [{ priorityClassName: "nope" }, "no PriorityClass with name nope was found"],
    [
      { priorityClassName: "high", priority: 5 },
      "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name",
    ],
    [
      { priorityClassName: "high", preemptionPolicy: "PreemptLowerPriority" },
      "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority admission controller computed Never from the given PriorityClass name",
    ],
  ])("%j is forbidden", (spec, message) => {
    expect(setPriority(makePod(spec), [high])).toBe(message);
  });
});

test("rejects a second global default", () => {
  expect(checkPriorityClass(other, [usual])).toBe(
    "PriorityClass usual is already marked as default. Only one default can exist",
  );
  expect(checkPriorityClass(usual, [usual])).toBeUndefined();
  expect(checkPriorityClass(high, [usual])).toBeUndefined();
});
