import { expect, test } from "vitest";
import { createPullBackoff } from "./pull-backoff.ts";

const second = 1_000;
/** When a pull that began and failed at `now` may be tried again, in seconds from then. */
function waitAfter(backoff: ReturnType<typeof createPullBackoff>, now: number): number {
  backoff.failed("pod", "app", { startedAt: now, now, error: "e" });
  let seconds = 0;
  while (backoff.waiting("pod", "app", now + seconds * second) !== undefined) seconds++;
  return seconds;
}

test("10 s, doubled by each failure, up to 300 s", () => {
  const backoff = createPullBackoff();
  let now = 0;
  const waits: number[] = [];
  for (let i = 0; i < 7; i++) {
    const wait = waitAfter(backoff, now);
    waits.push(wait);
    now += wait * second;
  }
  expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

test("begins anew after ten minutes without a failure, and for a pod that is gone", () => {
  const backoff = createPullBackoff();
  waitAfter(backoff, 0);
  expect(waitAfter(backoff, 600 * second)).toBe(20);
  expect(waitAfter(backoff, 1_201 * second)).toBe(10);
  backoff.forget("pod");
  expect(waitAfter(backoff, 1_202 * second)).toBe(10);
});

test("pulls of one image that ran at the same time count as one failure", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 5 * second, error: "first" });
  backoff.failed("pod", "app", { startedAt: 1 * second, now: 6 * second, error: "second" });
  expect(backoff.waiting("pod", "app", 14 * second)).toBe("second");
  expect(backoff.waiting("pod", "app", 15 * second)).toBeUndefined();
});

test("other pods and other images do not wait", () => {
  const backoff = createPullBackoff();
  backoff.failed("pod", "app", { startedAt: 0, now: 0, error: "e" });
  expect(backoff.waiting("pod", "other", 1)).toBeUndefined();
  expect(backoff.waiting("other", "app", 1)).toBeUndefined();
});
