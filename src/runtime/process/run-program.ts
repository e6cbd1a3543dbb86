import { type QuietOptions, runQuietly } from "./run-quietly.ts";

/** Runs a program of the machine to its end; answers, or rejects, with what it wrote. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options?: Pick<QuietOptions, "cwd" | "timeoutMs">,
): Promise<string> {
  // Newer util-linux passes mount options one by one, at most 256 bytes each; the old call takes a page of them.
  const env = { LIBMOUNT_FORCE_MOUNT2: "always" };
  const { exitCode, output } = await runQuietly(program, args, { ...options, env });
  if (exitCode !== 0) throw new Error(`${program}: ${output || `failed with ${exitCode}`}`);
  return output;
}
