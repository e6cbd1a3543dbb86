import { readFile } from "node:fs/promises";
import { messageOf } from "../../lib/message-of.ts";

/** Error for an invalid command line: exit code 2. Other errors exit with 1. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Error of a command that has already printed the reason: exit code 1 without a further message. */
export class AlreadyReportedError extends Error {
  constructor() {
    super("the reason has already been printed");
    this.name = "AlreadyReportedError";
  }
}

/** Reads the file that an option names. Undefined if the option is not set. */
export async function readGivenFile(option: string, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    const problem = error.code === "ENOENT" ? "does not exist" : `cannot be read: ${error.message}`;
    throw new UsageError(`${option}: ${file} ${problem}`);
  });
}

/** Reads and parses the file that an option names. An invalid file is a usage error. */
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
