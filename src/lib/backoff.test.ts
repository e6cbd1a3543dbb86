import { describe, expect, test } from "vitest";
import { type BackoffState, backOff, backoffRemainingMs, retry } from "./backoff.ts";
import { createManualClock } from "./manual-clock.ts";

const policy = { initialMs: 10, maxMs: 100, factor: 3, resetAfterMs: 1_000 };

describe("backOff", () => {
  const cases: { name: string; failuresAt: number[]; delays: number[] }[] = [
    {
      name: "grows by the factor up to the maximum",
      failuresAt: [0, 10, 40, 130],
      delays: [10, 30, 90, 100],
    },
    { name: "restarts after a time without failures", failuresAt: [0, 10, 1_011], delays: [10, 30, 10] },
    { name: "keeps growing at exactly the reset time", failuresAt: [0, 1_000], delays: [10, 30] },
  ];
  test.each(cases)("$name", ({ failuresAt, delays }) => {
    let state: BackoffState | undefined;
    const seen = failuresAt.map((now) => {
      state = backOff(policy, state, now);
      return state.delayMs;
    });
    expect(seen).toEqual(delays);
  });
});

test("backoffRemainingMs counts down to zero", () => {
  const state = { delayMs: 30, failedAt: 100 };
  expect([100, 120, 130, 500].map((now) => backoffRemainingMs(state, now))).toEqual([30, 10, 0, 0]);
  expect(backoffRemainingMs(undefined, 5)).toBe(0);
});

describe("retry", () => {
  test("waits longer after each failure and returns the first success", async () => {
    const clock = createManualClock();
    const attemptsAt: number[] = [];
    const result = retry(
      async () => {
        attemptsAt.push(clock.now());
        if (attemptsAt.length < 4) throw new Error("not yet");
        return "done";
      },
      { policy, clock, signal: new AbortController().signal },
    );
    await clock.advance(200);
    expect(await result).toBe("done");
    expect(attemptsAt).toEqual([0, 10, 40, 130]);
  });

  test("aborting ends the delay with the signal's reason", async () => {
    const clock = createManualClock();
    const abort = new AbortController();
    const failures: number[] = [];
    const result = retry(() => Promise.reject(new Error("down")), {
      policy,
      clock,
      signal: abort.signal,
      onFailure: (_error, delayMs) => failures.push(delayMs),
    });
    const outcome = expect(result).rejects.toThrow("stopping");
    await clock.advance(15);
    abort.abort(new Error("stopping"));
    await outcome;
    expect(failures).toEqual([10, 30]);
  });
});
