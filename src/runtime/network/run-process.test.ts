import { expect, test } from "vitest";
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
  const outcome = await runProcess("sh", ["-c", "echo started >&2; sleep 987 & wait"], { timeoutMs: 300 });
  expect(outcome).toEqual({ kind: "timedOut", stderr: "started\n" });
  await expect.poll(async () => (await runTool("ps", ["-eo", "args"])).includes("sleep 987")).toBe(false);
});

test("a program that does not read its input is no failure", async () => {
  expect(await runTool("true", [], { input: "x".repeat(1_000_000) })).toBe("");
});
