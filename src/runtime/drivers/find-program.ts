import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Folders added to PATH: daemons often start with a PATH that lacks those of administrators. */
const extraFolders = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
  "/usr/libexec/crio",
];

/** Finds a program in folders. Defaults to those of `searchPath`. */
export function findProgram(
  name: string,
  folders: readonly string[] = searchPath().split(delimiter),
): string | undefined {
  if (name.includes("/")) return isExecutable(name) ? name : undefined;
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** PATH with the additional folders, so that programs run by name are found where `findProgram` finds them. */
export function searchPath(): string {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return [...new Set([...folders, ...extraFolders])].join(delimiter);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
