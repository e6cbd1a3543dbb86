import fc from "fast-check";
import { expect, test } from "vitest";
import { createDelayedKeys } from "./delayed-keys.ts";

test("delayed keys come out in the order of their earliest times, each once", () => {
  const entries = fc.array(fc.record({ key: fc.constantFrom(..."abcdefgh"), at: fc.nat(50) }));
  fc.assert(
    fc.property(entries, (added) => {
      const delayed = createDelayedKeys();
      const earliest = new Map<string, number>();
      for (const { key, at } of added) {
        delayed.add(key, at);
        earliest.set(key, Math.min(at, earliest.get(key) ?? at));
      }
      const taken = new Map<string, number>();
      for (let now = 0; now <= 50; now++) {
        for (let key = delayed.take(now); key !== undefined; key = delayed.take(now)) {
          expect(taken.has(key)).toBe(false);
          taken.set(key, now);
        }
      }
      expect(taken).toEqual(earliest);
      expect(delayed.nextAt()).toBeUndefined();
    }),
  );
});

test("a key that was taken can wait again", () => {
  const delayed = createDelayedKeys();
  delayed.add("a", 1);
  expect(delayed.take(1)).toBe("a");
  delayed.add("a", 2);
  expect(delayed.take(1)).toBeUndefined();
  expect(delayed.nextAt()).toBe(2);
});
