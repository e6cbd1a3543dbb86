import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeOnce } from "./programs-folder.ts";

export interface KindlingRun {
  readonly child: ChildProcess;
  readonly output: { stdout: string; stderr: string };
  readonly exit: Promise<number | null>;
}

/** The command, the library and the unpack process from the current source, as they lie in the package. */
export function commandFolder(): Promise<string> {
  return makeOnce("command", async (folder) => {
    await promisify(execFile)(process.execPath, ["scripts/bundle-command.mjs", folder]);
  });
}

export async function kindlingProgram(): Promise<string> {
  return join(await commandFolder(), "kindling.js");
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

/** Runs it to its end. */
export async function kindling(...args: string[]) {
  const { exit, output } = await runKindling(args);
  const code = await exit;
  return { code, ...output };
}
