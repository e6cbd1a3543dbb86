import { expect, test, vi } from "vitest";
import { runProcess, runTool } from "./run-process.ts";

test("gives input and takes output", async () => {
  expect(await runTool("cat", [], { input: "hello" })).toBe("hello");
});

test("a failure names the command, its complaint and its input", async () => {
  const failed = runTool("sh", ["-c", "echo bad >&2; exit 3"], { input: "line" });
  await expect(failed).rejects.toThrow(/^sh -c .* failed with 3: bad\nline$/);
  await expect(runTool("no-such-program", [])).rejects.toThrow("cannot run no-such-program");
});

test("what takes too long is killed with its children", async () => {
  // Other tests on the machine have sleepers too.
  const nap = `sleep ${4_000_000 + process.pid}`;
  const isAsleep = async () => new RegExp(`^${nap}$`, "m").test(await runTool("ps", ["-eo", "args"]));
  // Its time is over only when it has begun, however long that takes.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const running = runProcess("sh", ["-c", `echo started >&2; ${nap} & wait`], { timeoutMs: 300 });
    await expect.poll(isAsleep).toBe(true);
    vi.advanceTimersByTime(300);
    expect(await running).toEqual({ kind: "timedOut", stderr: "started\n" });
  } finally {
    vi.useRealTimers();
  }
  await expect.poll(isAsleep).toBe(false);
});

test("a program that does not read its input is no failure", async () => {
  expect(await runTool("true", [], { input: "x".repeat(1_000_000) })).toBe("");
});
