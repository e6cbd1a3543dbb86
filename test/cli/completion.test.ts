import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

const run = promisify(execFile);
const folder = temporaryFolder();
const scripts: Record<string, string> = {};

async function scriptFor(shell: string): Promise<string> {
  const command = await runKindling(["completion", shell]);
  expect(await command.exit).toBe(0);
  return command.output.stdout;
}

beforeAll(async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    scripts[shell] = await scriptFor(shell);
    await writeFile(join(folder, shell), scripts[shell]);
  }
  await mkdir(join(folder, "here", "some-folder"), { recursive: true });
  await writeFile(join(folder, "here", "some-file"), "");
});

describe("in a real bash", () => {
  /** Completions after these words; the last word is incomplete. */
  async function complete(...words: string[]): Promise<string[]> {
    const program = `
      source ${folder}/bash
      COMP_WORDS=("$@") COMP_CWORD=$(( $# - 1 ))
      _kindling kindling "\${COMP_WORDS[COMP_CWORD]}"
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await run("bash", ["--norc", "-c", program, "bash", "kindling", ...words], {
      cwd: join(folder, "here"),
    });
    expect(stderr).toBe("");
    return stdout.split("\n").filter(Boolean).sort();
  }

  test("all commands", async () => {
    expect(await complete("")).toEqual([...commands.map(({ name }) => name), "help"].sort());
  });

  test.each<[string[], string[]]>([
    [["st"], ["status"]],
    [
      ["up", "--store", ""],
      ["etcd", "lmdb", "memory"],
    ],
    [["up", "--store", "m"], ["memory"]],
    [["up", "--store", "=", "m"], ["memory"]],
    [
      ["up", "--store", "="],
      ["etcd", "lmdb", "memory"],
    ],
    [["up", "--merge"], ["--merge-kubeconfig"]],
    [["up", "--ephemeral", "--set"], ["--set-context"]],
    [["up", "--data-dir", ""], ["some-folder"]],
    [
      ["up", "--config", ""],
      ["some-file", "some-folder"],
    ],
    [["up", "--config", "some-fi"], ["some-file"]],
    [["up", "--listen", ""], []],
    [["up", ""], []],
    [
      ["status", "-o", ""],
      ["json", "table"],
    ],
    [["status", "--output", "j"], ["json"]],
    [
      ["runtime", ""],
      ["build", "import"],
    ],
    [
      ["runtime", "import", ""],
      ["some-file", "some-folder"],
    ],
    [["runtime", "build", ""], ["some-folder"]],
    [["runtime", "--data-dir", "x", "build", "--ta"], ["--tag"]],
    [["runtime", "--driver", "h"], ["host"]],
    [
      ["completion", ""],
      ["bash", "fish", "zsh"],
    ],
    [["help", "upp"], []],
    [["help", "u"], ["up"]],
    [["nonsense", ""], [...commands.map(({ name }) => name), "help"].sort()],
  ])("%j", async (words, offered) => {
    expect(await complete(...words)).toEqual(offered);
  });

  test("names with spaces, quotes and substitutions are only text", async () => {
    expect(await complete("up", "--config", "$(touch pwned)")).toEqual([]);
    expect(await complete("up", "--config", "some'")).toEqual([]);
    expect(await complete("up", "--data-dir", "")).toEqual(["some-folder"]);
  });
});

test("zsh and fish complete every command and option that bash completes", () => {
  const options = new Set(scripts.bash?.match(/--[a-z][a-z-]+/g));
  expect(options.size).toBeGreaterThan(30);
  for (const option of options) {
    expect(scripts.zsh).toContain(option);
    expect(scripts.fish).toContain(`-l ${option.slice(2)}`);
  }
  for (const { name, summary } of commands) {
    expect(scripts.zsh).toContain(`'${name}:${summary}'`);
    expect(scripts.fish).toContain(`-a '${name}' -d '${summary}'`);
  }
});

test.each(["zsh", "fish"])("%s itself accepts its script, where it is installed", async (shell) => {
  const checked = await run(shell, ["-n", join(folder, shell)]).catch((error) => error);
  if (checked.code !== "ENOENT") expect(checked).toMatchObject({ stderr: "" });
});

test("an unknown shell is rejected with the list of supported ones", async () => {
  const command = await runKindling(["completion", "tcsh"]);
  expect(await command.exit).toBe(2);
  expect(command.output.stderr).toContain("Allowed choices are bash, zsh, fish.");
});
