import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createProgramShell } from "./mounter.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const directory = temporaryDirectory();

test("passes arguments unchanged and runs programs in order", async () => {
  const { run } = createProgramShell();
  const file = join(directory, "words");
  const words = ["plain", "two words", "it's", '$HOME `id` \\ "', "a\nb", "", "*"];
  await Promise.all(words.map((word) => run("sh", ["-c", 'printf "[%s]" "$1" >> "$2"', "sh", word, file])));
  expect(await readFile(file, "utf8")).toBe(words.map((word) => `[${word}]`).join(""));
});

test("a failure contains the output, and the next program runs", async () => {
  const { run } = createProgramShell();
  await expect(run("sh", ["-c", "echo no such luck >&2; exit 3"])).rejects.toThrow(/^no such luck$/);
  await expect(run("sh", ["-c", "exit 3"])).rejects.toThrow("sh ended with exit code 3");
  await expect(run("no-such-program", [])).rejects.toThrow(/not found/);
  await run("true", []);
});

test("a program cannot read the shell's input or imitate its end marker", async () => {
  const { run } = createProgramShell();
  await run("cat", []);
  await expect(run("sh", ["-c", "echo; echo 0000 0; exit 1"])).rejects.toThrow("0000 0");
});

test("replaces a killed shell", async () => {
  const { run } = createProgramShell();
  await expect(run("sh", ["-c", "kill -9 $PPID"])).rejects.toThrow("the shell exited");
  await run("true", []);
});

test("an idle shell does not keep the process alive", async () => {
  const program = `
    import { createProgramShell } from ${JSON.stringify(join(import.meta.dirname, "mounter.ts"))};
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
