import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createActivityMeter, stallDeadline } from "./activity.ts";

test.each([
  ["nothing waited for: unpacking is no stall", [{ waiting: false, lastAtMs: 0 }], 10, undefined],
  ["waiting since the last byte", [{ waiting: true, lastAtMs: 5 }], 10, 15],
  [
    "a byte on any layer counts for all",
    [
      { waiting: true, lastAtMs: 5 },
      { waiting: true, lastAtMs: 9 },
    ],
    10,
    19,
  ],
  [
    "also of one that is whole by now",
    [
      { waiting: true, lastAtMs: 5 },
      { waiting: false, lastAtMs: 9 },
    ],
    10,
    19,
  ],
  ["0 is never", [{ waiting: true, lastAtMs: 5 }], 0, undefined],
])("3542-4 %s", (_name, activities, timeoutMs, expected) => {
  expect(stallDeadline(activities, timeoutMs)).toBe(expected);
});

test("3542-4 the time before a wait does not count", async () => {
  const clock = createManualClock();
  const meter = createActivityMeter(() => clock.now());
  await clock.advance(1_000);
  await meter.during(async () => {
    expect(stallDeadline([meter], 10)).toBe(1_010);
    await clock.advance(5);
    meter.touch();
    expect(stallDeadline([meter], 10)).toBe(1_015);
  });
  expect(stallDeadline([meter], 10)).toBeUndefined();
});
