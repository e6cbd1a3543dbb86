import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  readlink,
  realpath,
  rmdir,
  unlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../../lib/message-of.ts";
import { StartError } from "../model/start-error.ts";
import {
  entryPath,
  errorCode,
  heldPath,
  openDirectory,
  openPlace,
  unless,
  withHeld,
} from "./held-directory.ts";
import type { Mounter } from "./mounter.ts";
import type { MountedVolume } from "./volume-request.ts";

export interface SubPathRequest {
  readonly volume: MountedVolume;
  readonly subPath: string;
  /** `<podsDir>/<uid>`. */
  readonly podDir: string;
}

/**
 * Binds a sub-path of a volume into the pod's directory, as upstream. The runtime resolves paths again after the kubelet
 * has checked them, and a container could replace the path in between. A bind mount from the open file cannot be replaced.
 * (A path in /proc/<pid>/fd of the kubelet would become invalid when the kubelet exits.)
 */
export async function bindSubPath(mounter: Mounter, request: SubPathRequest): Promise<string> {
  const { volume, subPath, podDir } = request;
  const problem = subPathProblem(subPath);
  if (problem) throw new StartError("CreateContainerConfigError", problem);
  const ours = volume.hostPath.startsWith(`${podDir}/`);
  const opening = openSubPath({ volumePath: volume.hostPath, subPath, create: ours || !volume.readOnly });
  try {
    return await withHeld(opening, (place) => bindPlace(mounter, place, targetOf(request)));
  } catch (error) {
    const why = messageOf(error);
    throw new StartError("CreateContainerConfigError", `failed to prepare subPath "${subPath}": ${why}`, {
      cause: error,
    });
  }
}

function subPathProblem(subPath: string): string | undefined {
  if (subPath.startsWith("/")) return `error SubPath \`${subPath}\` must not be an absolute path`;
  if (subPath.split("/").includes("..")) {
    return `unable to provision SubPath \`${subPath}\`: must not contain '..'`;
  }
  return subPath.includes("\0") ? "error SubPath must not contain a NUL character" : undefined;
}

/** Returns the mount point, which all containers of the pod share for the same sub-path. */
function targetOf({ volume, subPath, podDir }: SubPathRequest): string {
  const key = createHash("sha256").update(`${volume.hostPath}\0${subPath}`).digest("hex").slice(0, 32);
  return join(podDir, "volume-subpaths", key);
}

async function bindPlace(mounter: Mounter, place: FileHandle, target: string): Promise<string> {
  const wanted = await place.stat();
  if (await mounter.isMountPoint(target)) {
    const mounted = await lstat(target);
    if (mounted.dev === wanted.dev && mounted.ino === wanted.ino) return target;
    // The sub-path was replaced, for example by a new version of a ConfigMap. Running containers keep the old mount.
    await mounter.unmount(target);
  }
  await makeTarget(target, wanted.isDirectory());
  await mounter.bind(`/proc/${process.pid}/fd/${place.fd}`, target);
  return target;
}

/** Creates the mount point: a directory for a directory, otherwise an empty file. */
async function makeTarget(target: string, asDirectory: boolean): Promise<void> {
  const found = await lstat(target).catch(unless<Stats>("ENOENT"));
  if (found && found.isDirectory() !== asDirectory) await (found.isDirectory() ? rmdir : unlink)(target);
  else if (found) return;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if (asDirectory) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, "", { mode: 0o640, flag: "wx" });
}

export interface SubPath {
  readonly volumePath: string;
  /** Relative path without `..`. */
  readonly subPath: string;
  /** Creates missing directories with the mode of the volume. */
  readonly create: boolean;
}

const maxLinks = 40;
/** Maximum depth, because each level holds a file descriptor. */
const maxDepth = 256;

/**
 * Opens a path inside a volume that containers can change concurrently. Each name is opened from its open parent directory
 * without following links. Links are read and resolved in the same way; `..` returns to a directory that is still open,
 * never above the volume. The opened file is therefore inside the volume, whatever is replaced in the meantime.
 */
export async function openSubPath({ volumePath, subPath, create }: SubPath): Promise<FileHandle> {
  // The path of the volume itself is trusted, so links in it are followed.
  let current = await openDirectory(await realpath(volumePath));
  const above: FileHandle[] = [];
  try {
    const mode = create ? (await current.stat()).mode & 0o7777 : undefined;
    const names = namesOf(subPath);
    let links = 0;
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === "..") {
        const parent = above.pop();
        if (!parent) throw new Error("the path leads outside the volume");
        await current.close();
        current = parent;
        continue;
      }
      const place = await openName(current, name, mode);
      if (!(await place.stat()).isSymbolicLink()) {
        above.push(current);
        current = place;
        if (above.length > maxDepth) throw new Error(`the path is nested more than ${maxDepth} deep`);
        continue;
      }
      await place.close();
      if (++links > maxLinks) throw new Error("the path contains too many symbolic links");
      names.unshift(...(await linkNames(current, name)));
    }
    return current;
  } catch (error) {
    await current.close();
    throw error;
  } finally {
    await Promise.all(above.map((handle) => handle.close()));
  }
}

async function linkNames(directory: FileHandle, name: string): Promise<string[]> {
  const target = await readlink(entryPath(directory, name), "utf8");
  // An absolute link has different targets in the container and on the host.
  if (target.startsWith("/")) throw new Error("the path contains an absolute symbolic link");
  return namesOf(target);
}

async function openName(directory: FileHandle, name: string, mode: number | undefined): Promise<FileHandle> {
  const path = entryPath(directory, name);
  const found = await openPlace(path).catch(unless<FileHandle>("ENOENT"));
  if (found) return found;
  if (mode === undefined) throw new Error("the path does not exist, and the volume is read-only");
  const made = await mkdir(path).then(
    () => true,
    (error) => {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    },
  );
  const place = await openPlace(path);
  // The umask applies to the mode at creation. A link that has replaced the directory is not changed.
  if (made && (await place.stat()).isDirectory()) await chmod(heldPath(place), mode);
  return place;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
