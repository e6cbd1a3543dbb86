import {
  chmod,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { unless } from "./held-directory.ts";
import { cleanPayload, type Payload } from "./payload.ts";
import { removeTree } from "./tear-down.ts";

/*
 * Layout of files that change atomically. Readers see either the old or the new version:
 *
 *   config    -> ..data/config
 *   ..data    -> ..2031_05_09_12_30_00.a1b2c3     replaced by rename
 *   ..2031_05_09_12_30_00.a1b2c3/config
 *
 * After a crash, the next write repairs the directory: it removes unreferenced versions and dangling links, and creates
 * missing links.
 */
const dataLink = "..data";
const nextDataLink = "..data_tmp";

export interface AtomicWriteOptions {
  readonly now: number;
  /** Called after the new version is written and before it is visible. */
  readonly setPermissions?: () => Promise<void>;
  /** Called after each step, for tests that interrupt the write. */
  readonly afterStep?: (step: WriteStep) => void;
}

export const writeSteps = ["created", "written", "linked", "switched", "shown", "cleaned"] as const;
type WriteStep = (typeof writeSteps)[number];

/** Writes the payload. Returns false if the directory already has this content. */
export async function writeAtomically(
  directory: string,
  payload: Payload,
  options: AtomicWriteOptions,
): Promise<boolean> {
  const clean = cleanPayload(payload);
  const current = await currentVersion(directory);
  const changed = current === undefined || !(await hasPayload(join(directory, current), clean));
  let version = current;
  if (changed) {
    // Removed before the write, because leftovers of a crash may fill the disk.
    await removeLeftovers(directory, current);
    version = await switchTo(directory, clean, options);
  }
  await linkFiles(directory, topNames(clean.keys()));
  options.afterStep?.("shown");
  await removeLeftovers(directory, version, topNames(clean.keys()));
  options.afterStep?.("cleaned");
  return changed;
}

/**
 * Returns whether the directory has a complete version, and repairs its links. Such a volume stays usable when its object
 * cannot be read.
 */
export async function hasContent(directory: string): Promise<boolean> {
  const current = await currentVersion(directory).catch(unless<string>("ENOTDIR"));
  const names = current && (await readdir(join(directory, current)).catch(unless<string[]>("ENOENT")));
  if (!names) return false;
  await linkFiles(directory, new Set(names));
  return true;
}

/** Returns the name of the current version's directory. */
async function currentVersion(directory: string): Promise<string | undefined> {
  const target = await readlink(join(directory, dataLink)).catch(unless<string>("ENOENT"));
  return target?.startsWith("..") && basename(target) === target && target !== ".." ? target : undefined;
}

async function switchTo(directory: string, payload: Payload, options: AtomicWriteOptions): Promise<string> {
  const versionPath = await mkdtemp(join(directory, versionPrefix(options.now)));
  await chmod(versionPath, 0o755);
  options.afterStep?.("created");
  await writeFiles(versionPath, payload);
  await options.setPermissions?.();
  options.afterStep?.("written");
  const version = basename(versionPath);
  const next = join(directory, nextDataLink);
  await symlink(version, next);
  options.afterStep?.("linked");
  await rename(next, join(directory, dataLink));
  options.afterStep?.("switched");
  return version;
}

/** Formats `..2031_05_09_12_30_00.`, in UTC. */
function versionPrefix(now: number): string {
  return `..${new Date(now).toISOString().slice(0, 19).replace(/[-T:]/g, "_")}.`;
}

async function writeFiles(versionPath: string, payload: Payload): Promise<void> {
  for (const [path, file] of payload) {
    const target = join(versionPath, path);
    await makeDirectories(versionPath, dirname(path));
    await writeFile(target, file.data, { flag: "wx", mode: file.mode });
    // The umask applies to the mode at creation.
    await chmod(target, file.mode);
    if (file.uid !== undefined) await lchown(target, file.uid, -1);
  }
}

async function makeDirectories(root: string, path: string): Promise<void> {
  let directory = root;
  for (const name of path.split("/")) {
    if (name === ".") continue;
    directory = join(directory, name);
    const made = await mkdir(directory).then(
      () => true,
      (error) => unless<boolean>("EEXIST")(error),
    );
    if (made) await chmod(directory, 0o755);
  }
}

/** Returns whether a version has exactly this content. Unreadable files count as different. */
async function hasPayload(versionPath: string, payload: Payload): Promise<boolean> {
  const found = await readdir(versionPath, { recursive: true, withFileTypes: true }).catch(() => undefined);
  // A version may have no files.
  if (found?.filter((entry) => !entry.isDirectory()).length !== payload.size) return false;
  for (const [path, file] of payload) {
    const bytes = await readFile(join(versionPath, path)).catch(() => undefined);
    if (!bytes?.equals(file.data)) return false;
  }
  return true;
}

function topNames(paths: Iterable<string>): ReadonlySet<string> {
  return new Set(Array.from(paths, (path) => path.split("/", 1)[0] ?? path));
}

async function linkFiles(directory: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const link = join(directory, name);
    // An existing entry is the link, or a directory in which another volume is mounted.
    if (await lstat(link).catch(unless("ENOENT"))) continue;
    await symlink(join(dataLink, name), link);
  }
}

/** Removes other versions and, if names are given, links to removed files. */
async function removeLeftovers(
  directory: string,
  version: string | undefined,
  names?: ReadonlySet<string>,
): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.name.startsWith("..")) {
      const keep = entry.name === dataLink || entry.name === version;
      if (!keep) await (entry.isDirectory() ? removeTree(path) : unlink(path));
    } else if (names && entry.isSymbolicLink() && !names.has(entry.name)) {
      await unlink(path);
    }
  }
}
