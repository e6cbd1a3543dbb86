import { expect, test } from "vitest";
import { createLimiter } from "./limiter.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Tasks that end on demand. */
function harness(count: number) {
  const limit = createLimiter(count);
  const running = new Map<string, () => void>();
  const started: string[] = [];
  const run = (name: string, signal?: AbortSignal) =>
    limit(() => {
      started.push(name);
      return new Promise<void>((resolve) => running.set(name, resolve));
    }, signal);
  const finish = async (name: string) => {
    running.get(name)?.();
    await settle();
  };
  return { run, finish, started };
}

test("limits concurrency and starts waiting tasks in order", async () => {
  const { run, finish, started } = harness(2);
  void Promise.all(["a", "b", "c", "d"].map((name) => run(name)));
  await settle();
  expect(started).toEqual(["a", "b"]);
  await finish("b");
  expect(started).toEqual(["a", "b", "c"]);
  await finish("a");
  expect(started).toEqual(["a", "b", "c", "d"]);
});

test("an aborted task leaves the queue without using a slot", async () => {
  const { run, finish, started } = harness(1);
  const impatient = new AbortController();
  const first = run("a");
  const second = run("b", impatient.signal);
  const third = run("c");
  impatient.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  await finish("a");
  await finish("c");
  await Promise.all([first, third]);
  expect(started).toEqual(["a", "c"]);
  await expect(run("d", impatient.signal)).rejects.toThrow("enough");
  void run("e");
  await settle();
  expect(started).toEqual(["a", "c", "e"]);
});

test("a failed task releases its slot", async () => {
  const limit = createLimiter(1);
  await expect(limit(() => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await limit(async () => "next")).toBe("next");
});
