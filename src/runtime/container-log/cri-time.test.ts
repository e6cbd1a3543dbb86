import { expect, it } from "vitest";
import { createCriTime } from "./cri-time.ts";

it("counts nanoseconds from the wall clock on, and follows it when it is set", () => {
  let nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
  let nanos = 700n;
  const time = createCriTime({ nowMs: () => nowMs, monotonicNanos: () => nanos });
  expect(time()).toBe("2026-01-02T03:04:05.006000000Z");
  nanos += 42n;
  expect(time()).toBe("2026-01-02T03:04:05.006000042Z");
  nowMs += 3_600_000;
  expect(time()).toBe("2026-01-02T04:04:05.006000000Z");
});
