import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createCpuRates, createLayerUsage } from "./container-usage.ts";

test("computes a rate from readings at least a second apart and keeps it until the next", () => {
  const rates = createCpuRates({ known: () => true });
  expect(rates.read("a", { cpuNanos: 0, at: 0 })).toBeUndefined();
  expect(rates.read("a", { cpuNanos: 5e8, at: 500 })).toBeUndefined();
  expect(rates.read("a", { cpuNanos: 1e9, at: 2_000 })).toBe(5e8);
  expect(rates.read("a", { cpuNanos: 9e9, at: 2_100 })).toBe(5e8);
});

test("counts a decrease as zero", () => {
  const rates = createCpuRates({ known: () => true });
  rates.read("a", { cpuNanos: 5, at: 0 });
  expect(rates.read("a", { cpuNanos: 0, at: 1_000 })).toBe(0);
});

function start({ walkMs = 0 }: { walkMs?: number } = {}) {
  const clock = createManualClock(1_000);
  const walks: string[] = [];
  const usage = createLayerUsage({
    clock,
    known: () => true,
    async measure(containerId) {
      walks.push(containerId);
      if (walkMs > 0) await clock.sleep(walkMs);
      return { usedBytes: walks.length, inodesUsed: 1 };
    },
  });
  return { clock, walks, usage };
}

test("measures a container at most every ten seconds", async () => {
  const { clock, walks, usage } = start();
  const first = await usage.read("a");
  expect(first).toEqual({ usedBytes: 1, inodesUsed: 1, at: 1_000 });
  await clock.advance(9_999);
  expect(await usage.read("a")).toEqual(first);
  await clock.advance(1);
  expect(await usage.read("a")).toMatchObject({ usedBytes: 2 });
  expect(walks).toEqual(["a", "a"]);
});

test("does not block callers during a long walk, shares it, and pauses longer after it", async () => {
  const { clock, walks, usage } = start({ walkMs: 5_000 });
  const asked = [usage.read("a"), usage.read("a")];
  await clock.advance(200);
  expect(await Promise.all(asked)).toEqual([undefined, undefined]);
  await clock.advance(4_800);
  expect(await usage.read("a")).toMatchObject({ usedBytes: 1, at: 6_000 });
  await clock.advance(44_999);
  await usage.read("a");
  expect(walks).toEqual(["a"]);
  await clock.advance(1);
  const again = usage.read("a");
  await clock.advance(200);
  // The walk continues; until it ends, the previous result is returned.
  expect(await again).toMatchObject({ usedBytes: 1 });
  expect(walks).toEqual(["a", "a"]);
});

test("runs one walk at a time", async () => {
  const { clock, walks, usage } = start({ walkMs: 1_000 });
  const asked = [usage.read("a"), usage.read("b")];
  await clock.advance(200);
  await Promise.all(asked);
  expect(walks).toEqual(["a"]);
  await clock.advance(800);
  expect(walks).toEqual(["a", "b"]);
});
