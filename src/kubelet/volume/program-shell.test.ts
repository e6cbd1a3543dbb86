import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProgramShell } from "./program-shell.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const directory = temporaryDirectory();

test("programs get their words as they are, and run in the order in which they were asked for", async () => {
  const { run } = createProgramShell();
  const file = join(directory, "words");
  const words = ["plain", "two words", "it's", '$HOME `id` \\ "', "a\nb", "", "*"];
  await Promise.all(words.map((word) => run("sh", ["-c", 'printf "[%s]" "$1" >> "$2"', "sh", word, file])));
  expect(await readFile(file, "utf8")).toBe(words.map((word) => `[${word}]`).join(""));
});

test("a failure says what the program said, and the next one runs", async () => {
  const { run } = createProgramShell();
  await expect(run("sh", ["-c", "echo no such luck >&2; exit 3"])).rejects.toThrow(/^no such luck$/);
  await expect(run("sh", ["-c", "exit 3"])).rejects.toThrow("sh ended with exit code 3");
  await expect(run("no-such-program", [])).rejects.toThrow(/not found/);
  await run("true", []);
});

test("neither input nor the end of a program is taken from the shell", async () => {
  const { run } = createProgramShell();
  await run("cat", []);
  await expect(run("sh", ["-c", "echo; echo 0000 0; exit 1"])).rejects.toThrow("0000 0");
});

test("a shell that was killed is replaced", async () => {
  const { run } = createProgramShell();
  await expect(run("sh", ["-c", "kill -9 $PPID"])).rejects.toThrow("its shell has ended");
  await run("true", []);
});

test("a process that has nothing else to do ends", async () => {
  const program = `
    import { createProgramShell } from ${JSON.stringify(join(import.meta.dirname, "program-shell.ts"))};
    await createProgramShell().run("true", []);
    console.log("done");`;
  const { build } = await import("esbuild");
  const outfile = join(directory, "program.mjs");
  await build({
    stdin: { contents: program, resolveDir: directory },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "silent",
  });
  const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
  expect(stdout).toBe("done\n");
});
