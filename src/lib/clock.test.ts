import { expect, test } from "vitest";
import { systemClock } from "./clock.ts";

test("the system clock's sleep ends at once when its signal aborts", async () => {
  const abort = new AbortController();
  const asleep = systemClock.sleep(3_600_000, abort.signal);
  abort.abort(new Error("stopped"));
  await expect(asleep).rejects.toThrow("stopped");
});

test("the system clock's sleep resolves", async () => {
  await expect(systemClock.sleep(0)).resolves.toBeUndefined();
});
