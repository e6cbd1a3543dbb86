import { chmod, type FileHandle, mkdir, readlink, realpath } from "node:fs/promises";
import { entryPath, errorCode, heldPath, openDirectory, openPlace, unless } from "./held-directory.ts";

export interface SubPath {
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** Make directories that are missing, with the mode of the volume. */
  readonly create: boolean;
}

const maxLinks = 40;
/** Each level holds a file descriptor. */
const maxDepth = 256;

/**
 * Opens a path inside a volume that containers can change at any time. Every name is opened by itself, from the open
 * directory before it, without following links; links are read and walked in the same way; `..` in them goes back to a
 * directory that is still open, and never above the volume. Whatever is swapped meanwhile, what is open was inside.
 */
export async function openSubPath({ volumePath, subPath, create }: SubPath): Promise<FileHandle> {
  // The volume's own path is the administrator's: links in it may be followed.
  let current = await openDirectory(await realpath(volumePath));
  const above: FileHandle[] = [];
  try {
    const mode = create ? (await current.stat()).mode & 0o7777 : undefined;
    const names = namesOf(subPath);
    let links = 0;
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      if (name === "..") {
        const parent = above.pop();
        if (!parent) throw new Error("it leads out of the volume");
        await current.close();
        current = parent;
        continue;
      }
      const place = await openName(current, name, mode);
      if (!(await place.stat()).isSymbolicLink()) {
        above.push(current);
        current = place;
        if (above.length > maxDepth) throw new Error(`it is nested more than ${maxDepth} deep`);
        continue;
      }
      await place.close();
      if (++links > maxLinks) throw new Error("it goes through too many links");
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
  // It would be one place for a container and another one for the machine.
  if (target.startsWith("/")) throw new Error("it goes through a link that is absolute");
  return namesOf(target);
}

async function openName(directory: FileHandle, name: string, mode: number | undefined): Promise<FileHandle> {
  const path = entryPath(directory, name);
  const found = await openPlace(path).catch(unless<FileHandle>("ENOENT"));
  if (found) return found;
  if (mode === undefined) throw new Error("it does not exist, and the volume is read-only");
  const made = await mkdir(path).then(
    () => true,
    (error) => {
      if (errorCode(error) === "EEXIST") return false;
      throw error;
    },
  );
  const place = await openPlace(path);
  // The mode at creation passes through the umask. A link in its place by now is left alone.
  if (made && (await place.stat()).isDirectory()) await chmod(heldPath(place), mode);
  return place;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
