import { readFile } from "node:fs/promises";
import { messageOf } from "../lib/message-of.ts";
import { UsageError } from "./usage-error.ts";

/** The content of a file that an option names; undefined where the option is not given. */
export async function readGivenFile(option: string, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === "ENOENT" ? "does not exist" : `cannot be read: ${error.message}`;
    throw new UsageError(`${option}: ${file} ${problem}`);
  });
}

/** What such a file says; what is wrong in it is wrong usage too. */
export async function parseGivenFile<T>(
  option: string,
  file: string | undefined,
  parse: (text: string, file: string) => T,
): Promise<T | undefined> {
  const content = await readGivenFile(option, file);
  if (content === undefined || file === undefined) return undefined;
  try {
    return parse(content.toString(), file);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
