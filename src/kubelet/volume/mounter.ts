import { dirname } from "node:path";
import { mountPointsBelow, readMountInfo } from "../../lib/mount-points.ts";
import { errorCode, mountIdOf, openPlace, withHeld } from "./held-directory.ts";
import { createProgramShell } from "./program-shell.ts";

/** Mounts on this machine, in the mount namespace of the kubelet. */
export interface Mounter {
  /** Whether something is mounted exactly here. Nothing at all there is false. */
  isMountPoint(path: string): Promise<boolean>;
  /** Mount points in a directory, in the order in which they can be unmounted. */
  mountPointsBelow(directory: string): Promise<readonly string[]>;
  mountTmpfs(directory: string, options: { readonly sizeBytes?: number }): Promise<void>;
  bind(source: string, target: string): Promise<void>;
  /** Detaches it while it is in use when there is no other way. */
  unmount(path: string): Promise<void>;
}

export function createMounter(): Mounter {
  const { run } = createProgramShell();
  // Kernels before 6.3 do not know it, and it is refused in a user namespace.
  let noswap = true;

  async function tmpfs(directory: string, size: readonly string[]): Promise<void> {
    const options = [...size, "mode=0777", ...(noswap ? ["noswap"] : [])].join(",");
    await run("mount", ["-n", "-t", "tmpfs", "-o", options, "tmpfs", directory]);
  }

  return {
    isMountPoint: differsFromParent,
    async mountPointsBelow(directory) {
      return mountPointsBelow(await readMountInfo(), directory);
    },
    async mountTmpfs(directory, { sizeBytes }) {
      const size = sizeBytes === undefined ? [] : [`size=${sizeBytes}`];
      if (noswap) {
        try {
          return await tmpfs(directory, size);
        } catch {
          noswap = false;
        }
      }
      await tmpfs(directory, size);
    },
    bind: (source, target) => run("mount", ["-n", "--no-canonicalize", "--bind", source, target]),
    async unmount(path) {
      try {
        await run("umount", ["-n", "--no-canonicalize", path]);
      } catch {
        await run("umount", ["-n", "--no-canonicalize", "--lazy", path]);
      }
    },
  };
}

/** By the kernel's number of the mount: unlike a comparison of devices it sees bind mounts too. */
async function differsFromParent(path: string): Promise<boolean> {
  try {
    const idOf = (place: string) => withHeld(openPlace(place), mountIdOf);
    const [own, parent] = await Promise.all([idOf(path), idOf(dirname(path))]);
    return own !== parent;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return false;
    throw error;
  }
}
