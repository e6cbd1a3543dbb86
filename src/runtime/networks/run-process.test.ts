import { expect, test, vi } from "vitest";
import { runProcess, runTool } from "./run-process.ts";

test("passes input and returns output", async () => {
  expect(await runTool("cat", [], { input: "hello" })).toBe("hello");
});

test("reports the command, its output and its input on failure", async () => {
  const failed = runTool("sh", ["-c", "echo bad >&2; exit 3"], { input: "line" });
  await expect(failed).rejects.toThrow(/^sh -c .* failed with 3: bad\nline$/);
  await expect(runTool("no-such-program", [])).rejects.toThrow("cannot run no-such-program");
});

test("kills a process and its children at the timeout", async () => {
  // Duration that identifies this test's sleep processes among others on the host.
  const nap = `sleep ${4_000_000 + process.pid}`;
  const isAsleep = async () => new RegExp(`^${nap}$`, "m").test(await runTool("ps", ["-eo", "args"]));
  // Repeated until the process has started before the timeout, however long that takes.
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

test("accepts a program that does not read its input", async () => {
  expect(await runTool("true", [], { input: "x".repeat(1_000_000) })).toBe("");
});
