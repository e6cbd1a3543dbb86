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

export function findProgram(name: string): string | undefined {
  if (name.includes("/")) return isExecutable(name) ? name : undefined;
  const folders = [...(process.env.PATH ?? "").split(delimiter).filter(Boolean), ...extraFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
