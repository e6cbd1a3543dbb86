import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Where a program is: the directories in order, those of the PATH unless told. */
export async function findProgram(
  name: string,
  directories: readonly string[] = (process.env.PATH ?? "").split(delimiter),
): Promise<string | undefined> {
  for (const path of directories.map((directory) => join(directory, name))) {
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) return path;
  }
  return undefined;
}
