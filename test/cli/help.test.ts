import { beforeAll, describe, expect, test } from "vitest";
import { buildProgram, commands } from "../../src/cli/commands.ts";
import { runKindling } from "../support/programs/run-kindling.ts";

let program: Awaited<ReturnType<typeof buildProgram>>;
beforeAll(async () => {
  program = await buildProgram(() => true);
});

async function kindling(...args: string[]) {
  const run = await runKindling(args);
  return { code: await run.exit, ...run.output };
}

describe("help", () => {
  test.each(commands.map(({ name }) => name))(
    "%s: the help has examples that are command lines of the command",
    async (name) => {
      const { code, stdout } = await kindling(name, "--help");
      expect(code).toBe(0);
      const [, examples = ""] = stdout.split("\nExamples:\n");
      const lines = examples.split("\n").filter((line) => line.includes(`kindling ${name}`));
      expect(lines.length).toBeGreaterThan(0);
      const command = program.commands.find((candidate) => candidate.name() === name);
      const known = [command, ...(command?.commands ?? [])].flatMap((part) =>
        (part?.options ?? []).flatMap(({ long, short }) => [long, short]),
      );
      for (const option of lines.join(" ").match(/(?<= )--?[a-z][a-z-]*/g) ?? [])
        expect(known).toContain(option);
    },
  );

  test.each(["runtime import", "runtime build", "monitor report"])("%s has examples too", async (name) => {
    const { code, stdout } = await kindling(...name.split(" "), "--help");
    expect(code).toBe(0);
    const [, examples = ""] = stdout.split("\nExamples:\n");
    expect(examples).toContain(`  kindling ${name} `);
  });

  test("without a command, and for one", async () => {
    expect(await kindling("--help")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Examples:\n"),
    });
    expect(await kindling("help", "down")).toMatchObject({
      code: 0,
      stdout: (await kindling("down", "--help")).stdout,
    });
    expect(await kindling()).toMatchObject({ code: 0, stdout: expect.stringContaining("Examples:\n") });
  });
});

test("tables have colours on a terminal, and none elsewhere", async () => {
  const shown = await runKindling(["features"], { terminal: true, env: { NO_COLOR: "" } });
  expect(await shown.exit).toBe(0);
  expect(shown.output.stdout).toContain("\x1b[1mNAME\x1b[0m");
  expect(shown.output.stdout).toContain("\x1b[32mon\x1b[0m");
  expect((await kindling("features")).stdout).not.toContain("\x1b");
});

describe("a typo exits with code 2 and suggests the nearest match", () => {
  test.each([
    [["stauts"], "error: unknown command 'stauts'\n(Did you mean status?)"],
    [["help", "stauts"], "error: unknown command 'stauts'\n(Did you mean status?)"],
    [["stauts", "--help"], "error: unknown command 'stauts'\n(Did you mean status?)"],
    [["up", "--ephemral"], "error: unknown option '--ephemral'\n(Did you mean --ephemeral?)"],
    [["up", "--store", "sqlite"], "Allowed choices are lmdb, memory, etcd."],
    [["down", "everything"], "error: too many arguments for 'down'"],
    [["up", "--set-context"], "--set-context needs --merge-kubeconfig"],
    [
      ["up", "--etcd-endpoints", "http://127.0.0.1:1", "--runtime", "simulated"],
      "--etcd-endpoints, --etcd-cafile, --etcd-certfile and --etcd-keyfile need --store etcd",
    ],
    [["up", "--etcd-cafile", "ca.crt", "--runtime", "simulated"], "need --store etcd"],
    [
      [
        ...["up", "--runtime", "simulated", "--store", "etcd"],
        ...["--etcd-endpoints", "https://127.0.0.1:1", "--etcd-cafile", "/nowhere"],
      ],
      "--etcd-cafile: /nowhere does not exist",
    ],
    ...[["up"], ["monitor"], ["kubelet", "--kubeconfig", "/nowhere"], ["runtime"]].map(
      (command): [string[], string] => [
        [...command, "--config", "/nowhere"],
        "kindling: --config: /nowhere does not exist\n",
      ],
    ),
    [["up", "--config", "/proc"], "kindling: --config: /proc cannot be read: EISDIR"],
    ...[["scheduler"], ["controller-manager"], ["monitor"], ["kubelet"], ["why", "web-0"]].map(
      (command): [string[], string] => [
        [...command, "--kubeconfig", "/nowhere"],
        "kindling: --kubeconfig: kubeconfig /nowhere does not exist\n",
      ],
    ),
    [
      ["scheduler", "--kubeconfig", "/proc"],
      "kindling: --kubeconfig: kubeconfig /proc cannot be read: EISDIR",
    ],
    [
      ["why", "web-0", "--kubeconfig", "/dev/null", "--context", "other"],
      'kindling: --kubeconfig: kubeconfig /dev/null: the requested context names "other"',
    ],
    ...[["up", "--runtime", "simulated"], ["apiserver"]].map((command): [string[], string] => [
      [...command, "--store", "memory", "--token-auth-file", "/nowhere"],
      "kindling: --token-auth-file: /nowhere does not exist",
    ]),
    [["runtime", "build", ".", "--tag", "x", "--cmd", "[date"], "write it as a JSON array of strings"],
  ])("%j", async (args, says) => {
    const { code, stderr } = await kindling(...args);
    expect(stderr).toContain(says);
    expect(code).toBe(2);
  });

  test("a variable that points to a missing file is named", async () => {
    const run = await runKindling(["why", "web-0"], { env: { KUBECONFIG: "/nowhere" } });
    expect({ code: await run.exit, said: run.output.stderr }).toEqual({
      code: 2,
      said: "kindling: KUBECONFIG: kubeconfig /nowhere does not exist\n",
    });
  });
});
