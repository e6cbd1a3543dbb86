import { describe, expect, test } from "vitest";
import { createManualClock, type ManualClock } from "../../lib/manual-clock.ts";
import { createUnreadMemory, type Reader, type UnreadMemory } from "./unread-memory.ts";

interface TestReader extends Reader {
  writableLength: number;
  bytesWritten: number;
  destroyed: boolean;
}

/** A reader that was written `pending` bytes, and has taken none of them. */
function createReader(
  memory: UnreadMemory,
  pending: number,
  options: { byReference?: boolean } = {},
): TestReader {
  const reader: TestReader = {
    ...options,
    writableLength: pending,
    bytesWritten: pending,
    destroyed: false,
    destroy() {
      reader.destroyed = true;
      memory.remove(reader);
    },
  };
  memory.add(reader);
  return reader;
}

function start(maxBytes = 1_000): { clock: ManualClock; memory: UnreadMemory; stop(): void } {
  const clock = createManualClock();
  const memory = createUnreadMemory({ clock, maxBytes });
  const stopping = new AbortController();
  void memory.run(stopping.signal);
  return { clock, memory, stop: () => stopping.abort() };
}

describe("a reader", () => {
  test("is disconnected when bytes have waited for it for 60 s, and no sooner", async () => {
    const { clock, memory, stop } = start();
    const stuck = createReader(memory, 10);
    const idle = createReader(memory, 0);
    await clock.advance(60_000);
    expect(stuck.destroyed).toBe(false);
    await clock.advance(1_000);
    expect(stuck.destroyed).toBe(true);
    expect(idle.destroyed).toBe(false);
    expect(memory.disconnects()).toEqual({ timeout: 1, memory: 0 });
    stop();
  });

  test("is not disconnected while it takes what waits for it, though more always follows", async () => {
    const { clock, memory, stop } = start();
    const slow = createReader(memory, 100);
    for (let i = 0; i < 10; i++) {
      await clock.advance(50_000);
      slow.bytesWritten += 100;
    }
    expect(slow.destroyed).toBe(false);
    stop();
  });

  test("is disconnected when it takes only a part of what waits for it", async () => {
    const { clock, memory, stop } = start();
    const trickling = createReader(memory, 100);
    for (let i = 0; i < 7; i++) {
      await clock.advance(10_000);
      trickling.writableLength -= 1;
    }
    expect(trickling.destroyed).toBe(true);
    stop();
  });
});

describe("memory", () => {
  test("is the sum of pending and held bytes, each buffer counted once", async () => {
    const { clock, memory, stop } = start();
    const readers = [createReader(memory, 10), createReader(memory, 20)];
    const list = {};
    for (const reader of readers) memory.hold(reader, list, 300);
    await clock.advance(1_000);
    expect(memory.totalBytes()).toBe(330);
    for (const reader of readers) memory.release(reader, list, 300);
    await clock.advance(1_000);
    expect(memory.totalBytes()).toBe(30);
    stop();
  });

  test("does not count the pending bytes of a reader that gets them by reference", async () => {
    const { clock, memory, stop } = start();
    const reader = createReader(memory, 10, { byReference: true });
    memory.hold(reader, {}, 10);
    await clock.advance(1_000);
    expect(memory.totalBytes()).toBe(10);
    stop();
  });

  test("beyond the limit is freed at once, by disconnecting the reader that has waited for longest", async () => {
    const { clock, memory, stop } = start();
    const first = createReader(memory, 400);
    await clock.advance(5_000);
    const second = createReader(memory, 400);
    await clock.advance(1_000);
    const third = createReader(memory, 400);
    memory.wrote(400);
    expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    expect(memory.disconnects()).toEqual({ timeout: 0, memory: 1 });
    expect(memory.totalBytes()).toBe(800);
    stop();
  });

  test("of a body that one reader waits for is freed with that reader", async () => {
    const { clock, memory, stop } = start();
    const slowest = createReader(memory, 10);
    const body = {};
    memory.hold(slowest, body, 950);
    await clock.advance(1_000);
    const later = createReader(memory, 100);
    await clock.advance(1_000);
    expect([slowest.destroyed, later.destroyed]).toEqual([true, false]);
    memory.release(slowest, body, 950);
    await clock.advance(1_000);
    expect(memory.totalBytes()).toBe(100);
    stop();
  });
});
