import { expect, test } from "vitest";
import { slowStart } from "./slow-start.ts";

test("doubles the batch size up to 500", async () => {
  let running = 0;
  const most: number[] = [];
  await slowStart(Array.from({ length: 2_000 }), async () => {
    running++;
    await Promise.resolve();
    most.push(running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  });
  expect(most).toHaveLength(2_000);
  expect(Math.max(...most)).toBe(500);
  expect(most.slice(0, 3)).toEqual([1, 2, 2]);
});

test("stops after the batch that fails", async () => {
  const tried: number[] = [];
  const items = Array.from({ length: 100 }, (_, i) => i);
  await expect(
    slowStart(items, async (item) => {
      tried.push(item);
      if (item === 4) throw new Error("no");
    }),
  ).rejects.toThrow("no");
  expect(tried).toEqual([0, 1, 2, 3, 4, 5, 6]);
});
