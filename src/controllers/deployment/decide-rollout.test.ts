import { expect, test } from "vitest";
import type { ReplicaSet } from "../../api/objects.ts";
import { deploymentOf, setOf } from "../workload.fixture.ts";
import { decideRolling, sizeOfCurrent } from "./decide-rollout.ts";

const rolling = (replicas: number, maxSurge: string | number, maxUnavailable: string | number) =>
  deploymentOf({
    replicas,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
  });
const current = (replicas: number, available = replicas) =>
  setOf({ name: "new", image: "web:2", replicas, available, age: 1 });
const old = (replicas: number, available = replicas, name = "old", age = 100) =>
  setOf({ name, replicas, available, age });

interface Step {
  what: string;
  limits: [replicas: number, maxSurge: string | number, maxUnavailable: string | number];
  current: ReplicaSet;
  old: ReplicaSet[];
  sizes: Record<string, number>;
}

const steps: Step[] = [
  { what: "grows by the surge", limits: [10, 3, 2], current: current(0), old: [old(10)], sizes: { new: 3 } },
  {
    what: "grows no further than asked",
    limits: [2, 9, 0],
    current: current(1),
    old: [old(2)],
    sizes: { new: 2 },
  },
  {
    what: "shrinks when it is too large",
    limits: [2, 1, 0],
    current: current(5),
    old: [],
    sizes: { new: 2 },
  },
  { what: "waits for new pods", limits: [10, 3, 2], current: current(5, 0), old: [old(8)], sizes: {} },
  {
    what: "old pods go as new ones come",
    limits: [10, 3, 2],
    current: current(5),
    old: [old(8)],
    sizes: { old: 3 },
  },
  {
    what: "unavailable old pods go first",
    limits: [10, 0, 2],
    current: current(0),
    old: [old(4, 4, "good", 200), old(6, 4, "bad")],
    sizes: { bad: 4 },
  },
  {
    what: "a failing new set costs no old pod",
    limits: [10, 3, 2],
    current: current(5, 0),
    old: [old(8, 7)],
    sizes: {},
  },
  {
    what: "the oldest set shrinks first",
    limits: [4, 0, 2],
    current: current(0),
    old: [old(2, 2, "newer", 50), old(2, 2, "older", 500)],
    sizes: { older: 0 },
  },
  {
    what: "rounded down to none, one may be missing",
    limits: [1, "0%", "1%"],
    current: current(0),
    old: [old(1)],
    sizes: { old: 0 },
  },
  { what: "is done", limits: [3, 1, 0], current: current(3), old: [old(0)], sizes: {} },
];

test.each(steps)("$what", ({ limits, sizes, ...sets }) => {
  const resizes = decideRolling(rolling(...limits), sets);
  expect(Object.fromEntries(resizes.map(({ set, replicas }) => [set.metadata.name, replicas]))).toEqual(
    sizes,
  );
});

test("a new set starts with as many pods as there is room for", () => {
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [old(10)] })).toBe(3);
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [old(13)] })).toBe(0);
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [] })).toBe(10);
});
