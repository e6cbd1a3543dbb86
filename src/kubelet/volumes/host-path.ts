import type { Stats } from "node:fs";
import { constants } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { errorCode } from "./held-directory.ts";

export interface HostPathSource {
  readonly path: string;
  readonly type?: string;
}

const described = new Map([
  ["Directory", "directory"],
  ["File", "file"],
  ["Socket", "socket file"],
  ["CharDevice", "character device"],
  ["BlockDevice", "block device"],
]);

/** Checks a host path against the volume's type, and creates it if the type requires it. */
export async function prepareHostPath({ path, type = "" }: HostPathSource): Promise<string> {
  if (path.split("/").includes("..")) throw new Error(`invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === "") return path;

  const wanted = type.replace(/OrCreate$/, "");
  const description = described.get(wanted);
  const mayCreate = type === "DirectoryOrCreate" || type === "FileOrCreate";
  if (!description || (wanted !== type && !mayCreate)) throw new Error(`${type} is an invalid volume type`);

  const found = await typeOf(path);
  if (found.kind === "missing" && mayCreate) await create(path, wanted);
  else if (found.kind !== "type") {
    throw new Error(
      `hostPath type check failed, ${path} is not a ${description}, unable to determine its type: ${found.why}`,
    );
  } else if (found.type !== wanted) {
    throw new Error(`hostPath type check failed: ${path} is not a ${description}, it's a ${found.type}`);
  }
  return path;
}

type Found =
  | { readonly kind: "type"; readonly type: string }
  | { readonly kind: "missing" | "unknown"; readonly why: string };

async function typeOf(path: string): Promise<Found> {
  try {
    const type = fileType(await stat(path));
    if (type) return { kind: "type", type };
    return {
      kind: "unknown",
      why: "only recognise file, directory, socket, block device and character device",
    };
  } catch (error) {
    const why = errorCode(error) === "ENOENT" ? `path "${path}" does not exist` : String(error);
    return { kind: errorCode(error) === "ENOENT" ? "missing" : "unknown", why };
  }
}

function fileType(stats: Stats): string | undefined {
  if (stats.isSocket()) return "Socket";
  if (stats.isBlockDevice()) return "BlockDevice";
  if (stats.isCharacterDevice()) return "CharDevice";
  if (stats.isDirectory()) return "Directory";
  return stats.isFile() ? "File" : undefined;
}

async function create(path: string, type: string): Promise<void> {
  if (type === "Directory") {
    await mkdir(path, { recursive: true, mode: 0o755 });
  } else {
    // Exclusive, so that a dangling symbolic link is not followed.
    const file = await open(path, constants.O_CREAT | constants.O_NOFOLLOW | constants.O_RDONLY, 0o644);
    await file.close();
  }
}
