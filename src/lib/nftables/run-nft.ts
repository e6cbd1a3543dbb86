import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProgramResult, tryRunProgram } from "../process/run-program.ts";

/** Longest script that is passed on standard input. Longer ones are faster from a file. */
const maxInput = 64 << 10;

/** Runs commands in one transaction: all of them apply, or none. */
export async function runNft(commands: readonly string[]): Promise<void> {
  if (commands.length === 0) return;
  const script = `${commands.join("\n")}\n`;
  const { exitCode, output } =
    script.length <= maxInput ? await nft(["--file", "-"], script) : await runNftFile(script);
  if (exitCode !== 0) throw new Error(`nft failed with ${exitCode}: ${output.slice(0, 1_000)}`);
}

async function runNftFile(script: string): Promise<ProgramResult> {
  const directory = await mkdtemp(join(tmpdir(), "kindling-nft-"));
  try {
    const file = join(directory, "commands");
    await writeFile(file, script, { mode: 0o600 });
    return await nft(["--file", file]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export function nft(args: readonly string[], input?: string): Promise<ProgramResult> {
  return tryRunProgram("nft", args, { input, timeoutMs: 120_000, shell: "pooled" });
}
