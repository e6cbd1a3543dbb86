import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createLayerUsage } from "./layer-usage.ts";

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

test("is walked at most every ten seconds, whoever asks", async () => {
  const { clock, walks, usage } = start();
  const first = await usage.read("a");
  expect(first).toEqual({ usedBytes: 1, inodesUsed: 1, at: 1_000 });
  await clock.advance(9_999);
  expect(await usage.read("a")).toEqual(first);
  await clock.advance(1);
  expect(await usage.read("a")).toMatchObject({ usedBytes: 2 });
  expect(walks).toEqual(["a", "a"]);
});

test("a long walk holds nobody up, is shared, and is paid for with a long pause", async () => {
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
  // The walk goes on; until it is done the one before counts.
  expect(await again).toMatchObject({ usedBytes: 1 });
  expect(walks).toEqual(["a", "a"]);
});

test("walks come one after the other", async () => {
  const { clock, walks, usage } = start({ walkMs: 1_000 });
  const asked = [usage.read("a"), usage.read("b")];
  await clock.advance(200);
  await Promise.all(asked);
  expect(walks).toEqual(["a"]);
  await clock.advance(800);
  expect(walks).toEqual(["a", "b"]);
});
