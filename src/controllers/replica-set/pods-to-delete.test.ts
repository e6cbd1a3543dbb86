import { expect, test } from "vitest";
import { now, type PodParts, podOf } from "../workload.fixture.ts";
import { podsToDelete } from "./pods-to-delete.ts";

const cost = (value: string) => ({ annotations: { "controller.kubernetes.io/pod-deletion-cost": value } });
const restarted = (restartCount: number) => ({
  status: { containerStatuses: [{ name: "c", image: "i", imageID: "", ready: true, restartCount }] },
});

const rules: [rule: string, first: PodParts, second: PodParts][] = [
  ["one without a node before one that has one", { node: "", readyFor: 9 }, { phase: "Pending" }],
  ["pending before running", { phase: "Pending" }, { phase: "Running" }],
  ["unknown before running", { phase: "Unknown" }, { phase: "Running" }],
  ["not ready before ready", {}, { readyFor: 1_000 }],
  ["cheap before dear", { readyFor: 1_000, ...cost("-5") }, { readyFor: 10 }],
  ["what is no number costs nothing", { readyFor: 10, ...cost("007") }, { readyFor: 1_000, ...cost("1") }],
  ["ready for a short time before ready for long", { readyFor: 10 }, { readyFor: 1_000 }],
  ["restarted often before restarted seldom", restarted(3), restarted(1)],
  ["young before old", { age: 10 }, { age: 10_000 }],
];

test.each(rules)("%s", (_, first, second) => {
  const [a, b] = [podOf({ name: "z", ...first }), podOf({ name: "b", ...second })];
  expect(podsToDelete([b, a], 1, { related: [], now })).toEqual([a]);
  expect(podsToDelete([a, b], 1, { related: [], now })).toEqual([a]);
});

test("where many stand together, one goes first", () => {
  const [alone, first, second] = [
    podOf({ name: "alone", node: "n1", readyFor: 10 }),
    podOf({ name: "first", node: "n2", readyFor: 1_000 }),
    podOf({ name: "second", node: "n2", readyFor: 1_000 }),
  ];
  const chosen = podsToDelete([alone, first, second], 1, { related: [alone, first, second], now });
  expect(chosen[0]?.spec?.nodeName).toBe("n2");
});

test("ages of one order of magnitude are equal, and the uid decides", () => {
  const [a, b] = [podOf({ name: "a", age: 1_000 }), podOf({ name: "b", age: 990 })];
  expect(podsToDelete([b, a], 1, { related: [], now })).toEqual([a]);
});
