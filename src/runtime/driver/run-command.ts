import { spawn } from "node:child_process";

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly timeoutMs?: number;
}

/** Runs a program to its end. A non-zero exit is a result, not an error; a program that cannot run is an error. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.timeoutMs ?? 60_000,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.once("error", reject);
    child.once("close", (code, killedBy) => {
      resolve({
        exitCode: code ?? 128,
        stdout,
        stderr: killedBy ? `${stderr}\nkilled by ${killedBy}` : stderr,
      });
    });
  });
}

/** As `runCommand`, for programs whose failure is ours: rejects with what they said. */
export async function mustRun(
  command: string,
  args: readonly string[],
  options?: CommandOptions,
): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(command, args, options);
  if (exitCode === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} ended with ${exitCode}: ${(stderr || stdout).trim()}`);
}
