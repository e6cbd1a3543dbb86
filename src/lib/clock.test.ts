import { expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

test("sleep of the system clock rejects when its signal aborts", async () => {
  const abort = new AbortController();
  const asleep = systemClock.sleep(3_600_000, abort.signal);
  abort.abort(new Error("stopped"));
  await expect(asleep).rejects.toThrow("stopped");
});

test("sleep of the system clock resolves", async () => {
  await expect(systemClock.sleep(0)).resolves.toBeUndefined();
});

test.each([2 ** 31, 40 * 24 * 3_600_000])("waits for %d ms", async (ms) => {
  vi.useFakeTimers();
  try {
    const asleep = Promise.race([systemClock.sleep(ms), systemClock.sleep(Number.POSITIVE_INFINITY)]);
    const woken = vi.fn();
    void asleep.then(woken);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(woken).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(woken).toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});
