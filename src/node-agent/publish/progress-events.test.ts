import { expect, test } from "vitest";
import { formatBinary, isEventDue, progressMessage } from "./progress-events.ts";

const gib = 2 ** 30;

test.each([
  [0, "0"],
  [512, "512"],
  [1_023, "1023"],
  [1_024, "1Ki"],
  [1_536, "1.5Ki"],
  [512 * 2 ** 20, "512Mi"],
  [2 ** 20 - 1, "1Mi"],
  [gib - 1, "1Gi"],
  [gib, "1Gi"],
  [1.4 * gib, "1.4Gi"],
  [1.44 * gib, "1.4Gi"],
  [1.5 * gib, "1.5Gi"],
  [4 * gib, "4Gi"],
  [1_023.9 * 2 ** 20, "1023.9Mi"],
  [2 ** 40, "1Ti"],
  [2 ** 62, "4096Pi"],
])("formats %d bytes as %s", (bytes, text) => {
  expect(formatBinary(bytes)).toBe(text);
});

test("3542-6 the text of the event is that of the proposal", () => {
  const image = "registryA.com/repo/imageB:tagC";
  expect(progressMessage(image, { offset: gib, total: 4 * gib })).toBe(
    "Pulling Container image registryA.com/repo/imageB:tagC: 1Gi of 4Gi",
  );
  expect(progressMessage(image, { offset: gib, total: 0 })).toBe(
    "Pulling Container image registryA.com/repo/imageB:tagC: 1Gi",
  );
});

const time = { kind: "time", intervalMs: 30_000 } as const;
const size = { kind: "size", intervalBytes: gib } as const;
const none = { kind: "none" } as const;
const start = { atMs: 0, offset: 0 };

test.each([
  ["before the interval", time, start, { now: 29_000, offset: gib, total: 4 * gib }, false],
  ["report slightly before the interval", time, start, { now: 29_600, offset: gib, total: 4 * gib }, true],
  ["at the interval", time, start, { now: 30_000, offset: gib, total: 4 * gib }, true],
  [
    "at the second interval",
    time,
    { atMs: 30_000, offset: gib },
    { now: 60_000, offset: gib, total: 4 * gib },
    true,
  ],
  [
    "soon after an event",
    time,
    { atMs: 30_000, offset: gib },
    { now: 31_000, offset: 2 * gib, total: 4 * gib },
    false,
  ],
  ["no progress known", time, start, { now: 30_000, offset: 0, total: 0 }, false],
  ["no byte received", time, start, { now: 30_000, offset: 0, total: gib }, true],
  ["total unknown", time, start, { now: 30_000, offset: 5, total: 0 }, true],
  ["unpacking", time, start, { now: 60_000, offset: gib, total: gib }, false],
  ["by size, below the interval", size, start, { now: 60_000, offset: gib - 1, total: 4 * gib }, false],
  ["by size", size, start, { now: 1, offset: gib, total: 4 * gib }, true],
  [
    "by size, soon after an event",
    size,
    { atMs: 0, offset: gib },
    { now: 1, offset: gib, total: 4 * gib },
    false,
  ],
  ["none", none, start, { now: 60_000, offset: gib, total: 4 * gib }, false],
])("3542-6 event is due: %s", (_name, every, last, current, due) => {
  expect(isEventDue(every, last, current)).toBe(due);
});
