import { expect, test } from "vitest";
import { quoteShell, runInShell, tryRunProgram } from "./run-program.ts";

/** Duration that identifies this test's sleep processes among others on the host. */
const nap = 3_000_000 + process.pid;
const processes = async () => (await tryRunProgram("ps", ["-eo", "args"])).output;

test("passes arguments, environment, directory and input unchanged", async () => {
  const script = 'printf "%s|" "$@" "$MORE" "$PWD"; cat';
  const words = ["it's", '$HOME "x" `y` \\', "two\nlines", ""];
  const input = "end\n$(exit 3)\nlast\n";
  const result = await tryRunProgram("sh", ["-c", script, "sh", ...words], {
    input,
    env: { MORE: "a 'b'" },
    cwd: "/usr",
  });
  expect(result).toEqual({ exitCode: 0, output: `${words.join("|")}|a 'b'|/usr|${input.trim()}` });
});

test("gives a program without input an empty standard input", async () => {
  expect(await tryRunProgram("cat", [])).toEqual({ exitCode: 0, output: "" });
});

test.each([
  [
    "returns the output of a failed program",
    ["sh", "-c", "echo why >&2; exit 7"],
    { exitCode: 7, output: "why" },
  ],
  ["returns 128 plus the signal of a killed program", ["sh", "-c", "kill -9 $$"], { exitCode: 137 }],
  ["returns 127 for a missing program", ["no-such-program"], { exitCode: 127 }],
])("%s", async (_name, [command = "", ...args], result) => {
  expect(await tryRunProgram(command, args)).toMatchObject(result);
});

test("returns each result to its own caller when many programs run at once", async () => {
  const results = await Promise.all(Array.from({ length: 60 }, (_, i) => tryRunProgram("echo", [String(i)])));
  expect(results.map(({ output }) => Number(output))).toEqual(results.map((_, i) => i));
});

test("runs scripts in separate shells without occupying the pool", async () => {
  const stop = new AbortController();
  const waiting = Array.from({ length: 20 }, () =>
    expect(runInShell("sleep 1000", { shell: "own", signal: stop.signal })).rejects.toThrow("enough"),
  );
  expect(await tryRunProgram("echo", ["through"])).toEqual({ exitCode: 0, output: "through" });
  expect(await tryRunProgram("echo", ["too"], { shell: "own" })).toEqual({ exitCode: 0, output: "too" });
  stop.abort(new Error("enough"));
  await Promise.all(waiting);
});

test("kills a script and its children at the timeout", async () => {
  const late = await runInShell(`sh -c ${quoteShell(`sleep ${nap}.1 & sleep ${nap}.2`)}`, { timeoutMs: 200 });
  expect(late).toEqual({ exitCode: 124, output: "did not end within 200 ms" });
  // Polled: killed processes stay visible until they have exited.
  await expect.poll(processes).not.toContain(`sleep ${nap}`);
});

test("kills a script and its children when the signal aborts", async () => {
  const stop = new AbortController();
  const script = `sleep ${nap}.3 & sleep ${nap}.4`;
  const stopped = runInShell(`sh -c ${quoteShell(script)}`, { signal: stop.signal });
  await expect.poll(processes).toMatch(new RegExp(`^sleep ${nap}\\.4$`, "m"));
  stop.abort(new Error("not wanted"));
  await expect(stopped).rejects.toThrow("not wanted");
  await expect(runInShell("true", { signal: stop.signal })).rejects.toThrow("not wanted");
  await expect.poll(processes).not.toContain(`sleep ${nap}`);
});

test("fails only the current script when a shell is killed", async () => {
  await expect(runInShell("kill -9 $$")).rejects.toThrow("has exited");
  expect(await tryRunProgram("true", [])).toEqual({ exitCode: 0, output: "" });
});
