import { execFile } from "node:child_process";

/** Runs a program of the machine to its end; rejects with what it wrote to standard error. */
export function runProgram(
  program: string,
  args: readonly string[],
  options?: { cwd?: string },
): Promise<void> {
  // Newer util-linux passes mount options one by one, at most 256 bytes each; the old call takes a page of them.
  const env = { ...process.env, LIBMOUNT_FORCE_MOUNT2: "always" };
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: options?.cwd, env }, (error, _stdout, stderr) => {
      if (error) reject(new Error(`${program}: ${stderr.trim() || error.message}`, { cause: error }));
      else resolve();
    });
  });
}
