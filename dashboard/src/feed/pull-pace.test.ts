import { expect, test } from "vitest";
import { addSample, type Pace, paceOf, type Sample } from "./pull-pace.ts";

const samples = (...pairs: readonly (readonly [number, number])[]) =>
  pairs.map(([atMs, offset]) => ({ atMs, offset }));

const adding: readonly { name: string; before: Sample[]; sample: Sample; after: Sample[] }[] = [
  { name: "the first", before: [], sample: { atMs: 5, offset: 1 }, after: samples([5, 1]) },
  {
    name: "ignores a sample without progress",
    before: samples([0, 1]),
    sample: { atMs: 5, offset: 1 },
    after: samples([0, 1]),
  },
  {
    name: "drops samples when the pull restarts",
    before: samples([0, 1], [9, 90]),
    sample: { atMs: 20, offset: 4 },
    after: samples([20, 4]),
  },
  {
    name: "replaces a sample shortly before",
    before: samples([0, 0], [100, 10]),
    sample: { atMs: 200, offset: 20 },
    after: samples([0, 0], [200, 20]),
  },
  {
    name: "keeps one sample before the window",
    before: samples([0, 0], [4_000, 1], [9_000, 2]),
    sample: { atMs: 15_000, offset: 3 },
    after: samples([4_000, 1], [9_000, 2], [15_000, 3]),
  },
  {
    name: "keeps two samples of a slow pull",
    before: samples([0, 0], [60_000, 2]),
    sample: { atMs: 120_000, offset: 3 },
    after: samples([60_000, 2], [120_000, 3]),
  },
];
test.each(adding)("$name", ({ before, sample, after }) => {
  expect(addSample(before, sample)).toEqual(after);
});

const paces: readonly {
  name: string;
  of: Sample[];
  offset: number;
  total: number;
  now: number;
  pace: Pace;
}[] = [
  { name: "nothing known", of: [], offset: 0, total: 0, now: 0, pace: { kind: "unknown" } },
  { name: "one sample", of: samples([0, 5]), offset: 5, total: 9, now: 1, pace: { kind: "unknown" } },
  { name: "complete", of: samples([0, 9]), offset: 9, total: 9, now: 99_999, pace: { kind: "done" } },
  {
    name: "moving",
    of: samples([0, 0], [2_000, 400]),
    offset: 400,
    total: 1_000,
    now: 2_000,
    pace: { kind: "moving", bytesPerSecond: 200, secondsLeft: 3 },
  },
  {
    name: "time left counts down between two messages",
    of: samples([0, 0], [2_000, 400]),
    offset: 400,
    total: 1_000,
    now: 3_000,
    pace: { kind: "moving", bytesPerSecond: 200, secondsLeft: 2 },
  },
  {
    name: "total not known",
    of: samples([0, 0], [1_000, 50]),
    offset: 50,
    total: 0,
    now: 1_000,
    pace: { kind: "moving", bytesPerSecond: 50, secondsLeft: undefined },
  },
  {
    name: "no progress for long",
    of: samples([0, 0], [1_000, 50]),
    offset: 50,
    total: 90,
    now: 13_000,
    pace: { kind: "still", forMs: 12_000 },
  },
  {
    name: "two samples of one moment",
    of: samples([0, 0], [0, 50]),
    offset: 50,
    total: 90,
    now: 10,
    pace: { kind: "unknown" },
  },
];
test.each(paces)("pace: $name", ({ of, offset, total, now, pace }) => {
  expect(paceOf(of, { offset, total, now })).toEqual(pace);
});
