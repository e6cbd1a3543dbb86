import { expect, test } from "vitest";
import type { ReplicaSet } from "../../api/objects.ts";
import { deploymentOf, setOf } from "../workload.fixture.ts";
import { decideScale, wasScaled } from "./decide-scale.ts";

/** A set that was given its size when the Deployment had `desired`, and might have `max`. */
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
  { what: "the only one", replicas: 12, current: set("new", 10, [10, 10]), old: [], sizes: { new: 12 } },
  {
    what: "an old one, when it alone has pods",
    replicas: 12,
    current: set("new", 0, [10, 10]),
    old: [set("old", 10, [10, 10])],
    sizes: { old: 12 },
  },
  {
    what: "the newest, when none has pods",
    replicas: 3,
    old: [set("old", 0, [0, 0], 9), set("older", 0, [0, 0], 99)],
    sizes: { old: 3 },
  },
  {
    what: "up, each by its share",
    replicas: 20,
    current: set("new", 5, [10, 10], 1),
    old: [set("old", 5, [10, 10])],
    sizes: { new: 10, old: 10 },
  },
  {
    what: "down, each by its share",
    replicas: 5,
    current: set("new", 8, [10, 10], 1),
    old: [set("old", 2, [10, 10])],
    sizes: { new: 4, old: 1 },
  },
  {
    what: "what is left over goes to the newest of the largest",
    replicas: 5,
    current: set("new", 2, [4, 4], 1),
    old: [set("old", 2, [4, 4])],
    sizes: { new: 3, old: 2 },
  },
  {
    what: "with a surge",
    replicas: 15,
    maxSurge: 3,
    current: set("new", 3, [10, 13], 1),
    old: [set("old", 10, [10, 13])],
    sizes: { new: 4, old: 14 },
  },
  {
    what: "to none",
    replicas: 0,
    current: set("new", 3, [5, 5], 1),
    old: [set("old", 2, [5, 5])],
    sizes: { new: 0, old: 0 },
  },
  {
    what: "nothing lost, nothing gained",
    replicas: 5,
    current: set("new", 3, [5, 5], 1),
    old: [set("old", 2, [5, 5])],
    sizes: { new: 3, old: 2 },
  },
  {
    what: "an adopted set has no place beside a complete one",
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

test("knows scaling from rolling out by what the sets say", () => {
  const sets = { current: set("new", 5, [10, 10]), old: [] };
  expect(wasScaled(scaled(10), sets)).toBe(false);
  expect(wasScaled(scaled(12), sets)).toBe(true);
  expect(wasScaled(scaled(12), { old: [set("old", 0, [10, 10])] })).toBe(false);
  expect(wasScaled(scaled(12), { old: [setOf({ replicas: 2 })] })).toBe(false);
});
