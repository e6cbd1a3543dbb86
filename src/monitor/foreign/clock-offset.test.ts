import { expect, test } from "vitest";
import { narrowOffset, type OffsetBounds, offsetMs, type TimedAnswer } from "./clock-offset.ts";

/** Answers of a server whose clock is so far ahead, each under way for so long. */
function answers(aheadMs: number, ...wayMs: number[]): TimedAnswer[] {
  return wayMs.map((way, i) => {
    const sentMs = 1_000_000 + i * 3_333;
    const serverMs = sentMs + way / 2 + aheadMs;
    return { sentMs, receivedMs: sentMs + way, dateMs: Math.floor(serverMs / 1_000) * 1_000 };
  });
}

const narrow = (all: readonly TimedAnswer[]) => all.reduce<OffsetBounds | undefined>(narrowOffset, undefined);

test.each([
  { ahead: 0, ways: [10] },
  { ahead: 0, ways: [3_000, 20] },
  { ahead: 900, ways: [10, 10, 10] },
  { ahead: -1_200, ways: [10, 10, 10] },
])("clocks that differ by $ahead ms count as equal", ({ ahead, ways }) => {
  expect(offsetMs(narrow(answers(ahead, ...ways)))).toBe(0);
});

test.each([300_000, -300_000, 5_000, -86_400_000])(
  "a server %i ms ahead is found to within a second",
  (ahead) => {
    const found = offsetMs(narrow(answers(ahead, 40, 10, 2_000, 15)));
    expect(Math.abs(found - ahead)).toBeLessThan(1_000);
  },
);

test("a clock that is set is followed at once", () => {
  const bounds = narrow([...answers(300_000, 10, 10, 10), ...answers(0, 10)]);
  expect(offsetMs(bounds)).toBe(0);
});

test("as long as nothing is known, ours is taken for right", () => {
  expect(offsetMs(undefined)).toBe(0);
});
