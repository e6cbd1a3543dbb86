import { expect, test } from "vitest";
import { quoteShell } from "../../lib/quote-shell.ts";
import { runInShell, runQuietly } from "./run-quietly.ts";

/** Other tests on the machine have sleepers too. */
const nap = 3_000_000 + process.pid;
const processes = async () => (await runQuietly("ps", ["-eo", "args"])).output;

test("arguments, environment, directory and input arrive as they are", async () => {
  const script = 'printf "%s|" "$@" "$MORE" "$PWD"; cat';
  const words = ["it's", '$HOME "x" `y` \\', "two\nlines", ""];
  const input = "end\n$(exit 3)\nlast\n";
  const result = await runQuietly("sh", ["-c", script, "sh", ...words], {
    input,
    env: { MORE: "a 'b'" },
    cwd: "/usr",
  });
  expect(result).toEqual({ exitCode: 0, output: `${words.join("|")}|a 'b'|/usr|${input.trim()}` });
});

test("without input there is nothing to read: not the next script", async () => {
  expect(await runQuietly("cat", [])).toEqual({ exitCode: 0, output: "" });
});

test.each([
  ["a failure with its text", ["sh", "-c", "echo why >&2; exit 7"], { exitCode: 7, output: "why" }],
  ["a kill", ["sh", "-c", "kill -9 $$"], { exitCode: 137 }],
  ["a program that is not there", ["no-such-program"], { exitCode: 127 }],
])("%s", async (_name, [command = "", ...args], result) => {
  expect(await runQuietly(command, args)).toMatchObject(result);
});

test("many at once are all done, each with its own answer", async () => {
  const results = await Promise.all(Array.from({ length: 60 }, (_, i) => runQuietly("echo", [String(i)])));
  expect(results.map(({ output }) => Number(output))).toEqual(results.map((_, i) => i));
});

test("one that takes too long is killed with what it started, and others go on", async () => {
  const late = await runInShell(`sh -c ${quoteShell(`sleep ${nap}.1 & sleep ${nap}.2`)}`, { timeoutMs: 200 });
  expect(late).toEqual({ exitCode: 124, output: "did not end within 200 ms" });
  // Polled: what is killed shows until it has died.
  await expect.poll(processes).not.toContain(`sleep ${nap}`);
});

test("one that nobody waits for any more is killed too", async () => {
  const stop = new AbortController();
  const script = `sleep ${nap}.3 & sleep ${nap}.4`;
  const stopped = runInShell(`sh -c ${quoteShell(script)}`, { signal: stop.signal });
  await expect.poll(processes).toMatch(new RegExp(`^sleep ${nap}\\.4$`, "m"));
  stop.abort(new Error("not wanted"));
  await expect(stopped).rejects.toThrow("not wanted");
  await expect(runInShell("true", { signal: stop.signal })).rejects.toThrow("not wanted");
  await expect.poll(processes).not.toContain(`sleep ${nap}`);
});

test("a shell that was killed is one failure, not the end of all", async () => {
  await expect(runInShell("kill -9 $$")).rejects.toThrow("has ended");
  expect(await runQuietly("true", [])).toEqual({ exitCode: 0, output: "" });
});
