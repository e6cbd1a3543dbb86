import fc from "fast-check";
import { expect, test } from "vitest";
import { writeWaitMs } from "./write-rate.ts";

test.each<[string, number | undefined, number, number]>([
  ["the first write is allowed at once", undefined, 1_000, 0],
  ["a write right after another waits for the interval", 1_000, 1_000, 20],
  ["part of the interval has passed", 1_000, 1_015, 5],
  ["the interval has passed", 1_000, 1_020, 0],
  ["unused time does not add up", 1_000, 9_000, 0],
  ["the clock was set back", 1_000, 500, 0],
])("%s", (_, lastWriteMs, now, expected) => {
  expect(writeWaitMs(lastWriteMs, now)).toBe(expected);
});

test("3815-10 no second has more than 50 writes, whenever they are requested", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(60), { maxLength: 400 }), (gaps) => {
      const writes: number[] = [];
      let requestedAt = 0;
      for (const gap of gaps) {
        requestedAt += gap;
        const now = Math.max(requestedAt, writes.at(-1) ?? 0);
        writes.push(now + writeWaitMs(writes.at(-1), now));
      }
      writes.forEach((at, i) => {
        expect((writes[i + 50] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
      });
    }),
  );
});
