import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Daemons often start with a PATH that lacks the administrators' folders. */
const extraFolders = [
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
  "/usr/libexec/crio",
];

/** Where a program is: in the folders in order, those of the PATH and these unless told. */
export function findProgram(
  name: string,
  folders: readonly string[] = searchPath().split(delimiter),
): string | undefined {
  if (name.includes("/")) return isExecutable(name) ? name : undefined;
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The PATH with those folders: what is run by name is then found where `findProgram` found it. */
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
