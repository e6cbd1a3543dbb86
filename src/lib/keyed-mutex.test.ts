import { expect, test } from "vitest";
import { createKeyedMutex } from "./keyed-mutex.ts";
import { createManualClock } from "./manual-clock.ts";

test("runs tasks of one key in order, and tasks of other keys concurrently", async () => {
  const clock = createManualClock();
  const mutex = createKeyedMutex();
  const log: string[] = [];
  const task = (name: string, ms: number) => async () => {
    log.push(`${name} starts at ${clock.now()}`);
    await clock.sleep(ms);
  };
  const all = Promise.all([
    mutex.run("a", task("a1", 10)),
    mutex.run("a", task("a2", 10)),
    mutex.run("b", task("b1", 5)),
  ]);
  await clock.advance(30);
  await all;
  expect(log).toEqual(["a1 starts at 0", "b1 starts at 0", "a2 starts at 10"]);
  expect(mutex.size()).toBe(0);
});

test("a failed task rejects only for its caller and releases the key", async () => {
  const mutex = createKeyedMutex();
  const failing = mutex.run("a", () => Promise.reject(new Error("boom")));
  const next = mutex.run("a", async () => "fine");
  await expect(failing).rejects.toThrow("boom");
  expect(await next).toBe("fine");
  expect(mutex.size()).toBe(0);
});
