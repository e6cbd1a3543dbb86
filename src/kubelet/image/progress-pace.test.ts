import { expect, test } from "vitest";
import { createProgressPace } from "./progress-pace.ts";

const [a, b, c] = [{}, {}, {}];

test("one at a time, in the order in which they began to wait", () => {
  const mayTell = createProgressPace(() => 0);
  expect(mayTell(a, 0)).toBe(true);
  expect([b, c, a].map((pull) => mayTell(pull, 500))).toEqual([false, false, false]);
  expect([a, b, c].map((pull) => mayTell(pull, 1_000))).toEqual([false, true, false]);
  expect([a, b, c].map((pull) => mayTell(pull, 2_000))).toEqual([false, false, true]);
  expect([a, b, c].map((pull) => mayTell(pull, 3_000))).toEqual([true, false, false]);
});

test("one that asks no more holds nobody up", () => {
  const mayTell = createProgressPace(() => 0);
  expect(mayTell(a, 0)).toBe(true);
  expect(mayTell(b, 500)).toBe(false);
  expect(mayTell(c, 1_500)).toBe(false);
  expect(mayTell(c, 2_500)).toBe(false);
  expect(mayTell(c, 3_500)).toBe(true);
});

test("reports that come more seldom are told of all the same", () => {
  const pulls = Array.from({ length: 60 }, () => ({}));
  const mayTell = createProgressPace(() => 0);
  // Six of them each second, so that each asks every ten.
  const toldAt = Array.from({ length: 60 }, (_, second) => second).filter((second) => {
    const turn = (second % 10) * 6;
    const answers = pulls.slice(turn, turn + 6).map((pull) => mayTell(pull, 1_000 * second));
    return answers.includes(true);
  });
  expect(toldAt.slice(0, 5)).toEqual([0, 4, 8, 12, 16]);
});

test("a server that is slow to take events is told less", () => {
  let writeMs = 500;
  const mayTell = createProgressPace(() => writeMs);
  expect(mayTell(a, 0)).toBe(true);
  expect(mayTell(a, 9_999)).toBe(false);
  expect(mayTell(a, 10_000)).toBe(true);
  writeMs = 10;
  expect(mayTell(a, 11_000)).toBe(true);
});
