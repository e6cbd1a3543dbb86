import { type ChildProcess, spawn } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { bundle } from "./bundle.ts";
import { unpackProgram } from "./unpack-program.ts";

export interface KindlingRun {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exit: Promise<number | null>;
}

let bundled: Promise<string> | undefined;

/** The command from the current source, with the unpack process beside it as in the package. */
export function kindlingProgram(): Promise<string> {
  bundled ??= (async () => {
    const [main, unpack] = await Promise.all([bundle("src/cli/main.ts"), unpackProgram()]);
    await copyFile(unpack, join(dirname(main), "unpack-process.js"));
    return main;
  })();
  return bundled;
}

/** Runs `kindling ARGS`; on a terminal of 100 columns, or as another user, when asked. */
export async function runKindling(
  args: readonly string[],
  {
    terminal = false,
    uid,
    env,
    stdin = "ignore",
  }: { terminal?: boolean; uid?: number; env?: NodeJS.ProcessEnv; stdin?: "ignore" | "pipe" } = {},
): Promise<KindlingRun> {
  const command = [process.execPath, await kindlingProgram(), ...args];
  const quoted = command.map((word) => `'${word}'`).join(" ");
  const [program = "", ...rest] = terminal
    ? ["script", "-qfec", `stty cols 100 rows 30; exec ${quoted}`, "/dev/null"]
    : command;
  const child = spawn(program, rest, {
    stdio: [stdin, "pipe", "pipe"],
    ...(uid !== undefined && { uid, gid: uid }),
    env: { ...process.env, ...env },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    output.stderr += chunk;
  });
  const exit = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, output, exit };
}
