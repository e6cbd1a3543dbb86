import { readFile } from "node:fs/promises";
import { UsageError } from "./usage-error.ts";

/** The content of a file that an option names; undefined where the option is not given. */
export async function readGivenFile(option: string, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === "ENOENT" ? `${file} does not exist` : error.message;
    throw new UsageError(`${option}: ${problem}`);
  });
}
