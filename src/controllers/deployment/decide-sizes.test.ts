import { expect, test } from "vitest";
import type { ReplicaSet } from "../../api/meta/objects.ts";
import { deploymentOf, setOf } from "../shared/workload.fixture.ts";
import { decideRolling, decideScale, sizeOfCurrent, wasScaled } from "./decide-sizes.ts";

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
  { what: "grows by maxSurge", limits: [10, 3, 2], current: current(0), old: [old(10)], sizes: { new: 3 } },
  {
    what: "does not grow beyond the requested replicas",
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
  {
    what: "waits for new pods to become available",
    limits: [10, 3, 2],
    current: current(5, 0),
    old: [old(8)],
    sizes: {},
  },
  {
    what: "deletes old pods as new pods become available",
    limits: [10, 3, 2],
    current: current(5),
    old: [old(8)],
    sizes: { old: 3 },
  },
  {
    what: "deletes unavailable old pods first",
    limits: [10, 0, 2],
    current: current(0),
    old: [old(4, 4, "good", 200), old(6, 4, "bad")],
    sizes: { bad: 4 },
  },
  {
    what: "deletes no old pod for a failing new ReplicaSet",
    limits: [10, 3, 2],
    current: current(5, 0),
    old: [old(8, 7)],
    sizes: {},
  },
  {
    what: "shrinks the oldest ReplicaSet first",
    limits: [4, 0, 2],
    current: current(0),
    old: [old(2, 2, "newer", 50), old(2, 2, "older", 500)],
    sizes: { older: 0 },
  },
  {
    what: "raises maxUnavailable to 1 when both limits round to 0",
    limits: [1, "0%", "1%"],
    current: current(0),
    old: [old(1)],
    sizes: { old: 0 },
  },
  {
    what: "changes nothing when the rollout is complete",
    limits: [3, 1, 0],
    current: current(3),
    old: [old(0)],
    sizes: {},
  },
];

test.each(steps)("$what", ({ limits, sizes, ...sets }) => {
  const resizes = decideRolling(rolling(...limits), sets);
  expect(Object.fromEntries(resizes.map(({ set, replicas }) => [set.metadata.name, replicas]))).toEqual(
    sizes,
  );
});

test("a new ReplicaSet starts with as many pods as maxSurge allows", () => {
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [old(10)] })).toBe(3);
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [old(13)] })).toBe(0);
  expect(sizeOfCurrent(rolling(10, 3, 2), { size: 0, all: [] })).toBe(10);
});

/** A ReplicaSet that was last sized when the Deployment had `desired` replicas and a limit of `max`. */
const set = (name: string, replicas: number, [desired, max]: [number, number], age = 100): ReplicaSet =>
  setOf({
    name,
    replicas,
    age,
    annotations: {
      "deployment.kubernetes.io/desired-replicas": String(desired),
      "deployment.kubernetes.io/max-replicas": String(max),
    },
  });
const scaled = (replicas: number, maxSurge = 0) =>
  deploymentOf({
    replicas,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable: 1 } },
  });

interface Row {
  what: string;
  replicas: number;
  maxSurge?: number;
  current?: ReplicaSet;
  old: ReplicaSet[];
  sizes: Record<string, number>;
}

const rows: Row[] = [
  {
    what: "the only ReplicaSet",
    replicas: 12,
    current: set("new", 10, [10, 10]),
    old: [],
    sizes: { new: 12 },
  },
  {
    what: "an old ReplicaSet if it is the only one with pods",
    replicas: 12,
    current: set("new", 0, [10, 10]),
    old: [set("old", 10, [10, 10])],
    sizes: { old: 12 },
  },
  {
    what: "the newest if none has pods",
    replicas: 3,
    old: [set("old", 0, [0, 0], 9), set("older", 0, [0, 0], 99)],
    sizes: { old: 3 },
  },
  {
    what: "up in proportion to their sizes",
    replicas: 20,
    current: set("new", 5, [10, 10], 1),
    old: [set("old", 5, [10, 10])],
    sizes: { new: 10, old: 10 },
  },
  {
    what: "down in proportion to their sizes",
    replicas: 5,
    current: set("new", 8, [10, 10], 1),
    old: [set("old", 2, [10, 10])],
    sizes: { new: 4, old: 1 },
  },
  {
    what: "the newest of the largest by the remainder",
    replicas: 5,
    current: set("new", 2, [4, 4], 1),
    old: [set("old", 2, [4, 4])],
    sizes: { new: 3, old: 2 },
  },
  {
    what: "with maxSurge",
    replicas: 15,
    maxSurge: 3,
    current: set("new", 3, [10, 13], 1),
    old: [set("old", 10, [10, 13])],
    sizes: { new: 4, old: 14 },
  },
  {
    what: "to zero",
    replicas: 0,
    current: set("new", 3, [5, 5], 1),
    old: [set("old", 2, [5, 5])],
    sizes: { new: 0, old: 0 },
  },
  {
    what: "nothing when the sizes add up",
    replicas: 5,
    current: set("new", 3, [5, 5], 1),
    old: [set("old", 2, [5, 5])],
    sizes: { new: 3, old: 2 },
  },
  {
    what: "an adopted ReplicaSet to zero beside a complete one",
    replicas: 5,
    current: set("new", 5, [5, 5], 1),
    old: [set("old", 2, [9, 9])],
    sizes: { old: 0 },
  },
];

test.each(rows)("scales $what", ({ replicas, maxSurge, old, current, sizes }) => {
  const resizes = decideScale(scaled(replicas, maxSurge), { old, ...(current && { current }) });
  expect(Object.fromEntries(resizes.map(({ set, replicas }) => [set.metadata.name, replicas]))).toEqual(
    sizes,
  );
});

test("detects scaling by the annotations of the ReplicaSets", () => {
  const sets = { current: set("new", 5, [10, 10]), old: [] };
  expect(wasScaled(scaled(10), sets)).toBe(false);
  expect(wasScaled(scaled(12), sets)).toBe(true);
  expect(wasScaled(scaled(12), { old: [set("old", 0, [10, 10])] })).toBe(false);
  expect(wasScaled(scaled(12), { old: [setOf({ replicas: 2 })] })).toBe(false);
});
