import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, rmdir, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf } from "../../lib/message-of.ts";
import { StartError } from "../start-error.ts";
import { unless, withHeld } from "./held-directory.ts";
import type { Mounter } from "./mounter.ts";
import { openSubPath } from "./open-sub-path.ts";
import type { MountedVolume } from "./pod-volumes.ts";

export interface SubPathRequest {
  readonly volume: MountedVolume;
  readonly subPath: string;
  /** `<podsDir>/<uid>`. */
  readonly podDir: string;
}

/**
 * A host path for a part of a volume. It is a bind mount in the pod's directory, as upstream: the runtime looks a path
 * up again, some time after we have checked it, and a container could swap it in between; a mount that was made from
 * the open place cannot be swapped. (A path in the kubelet's /proc/<pid>/fd would end with the kubelet.)
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

/** The same part of a volume is the same mount for all containers of the pod. */
function targetOf({ volume, subPath, podDir }: SubPathRequest): string {
  const key = createHash("sha256").update(`${volume.hostPath}\0${subPath}`).digest("hex").slice(0, 32);
  return join(podDir, "volume-subpaths", key);
}

async function bindPlace(mounter: Mounter, place: FileHandle, target: string): Promise<string> {
  const wanted = await place.stat();
  if (await mounter.isMountPoint(target)) {
    const mounted = await lstat(target);
    if (mounted.dev === wanted.dev && mounted.ino === wanted.ino) return target;
    // Another file or directory is there by now, a new version of a config map: who has the old one keeps it.
    await mounter.unmount(target);
  }
  await makeTarget(target, wanted.isDirectory());
  await mounter.bind(`/proc/${process.pid}/fd/${place.fd}`, target);
  return target;
}

/** A directory for a directory; an empty file will do for whatever else is mounted on it. */
async function makeTarget(target: string, asDirectory: boolean): Promise<void> {
  const found = await lstat(target).catch(unless<Stats>("ENOENT"));
  if (found && found.isDirectory() !== asDirectory) await (found.isDirectory() ? rmdir : unlink)(target);
  else if (found) return;
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if (asDirectory) await mkdir(target, { mode: 0o750 });
  else await writeFile(target, "", { mode: 0o640, flag: "wx" });
}
