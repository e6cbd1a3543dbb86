import { chmod, chown, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { messageOf } from "../lib/message-of.ts";

/** Where kubectl keeps its own: the first file of $KUBECONFIG, else ~/.kube/config. */
export function usersKubeconfig(variable: string | undefined): string {
  const [first] = (variable ?? "").split(delimiter).filter(Boolean);
  return first ?? join(homedir(), ".kube", "config");
}

/** Nobody has a kubeconfig of this size. */
const mostBytes = 16 * 1_024 * 1_024;
const lockAttempts = 20;
const lockRetryMs = 100;

/**
 * Changes somebody's kubeconfig in one step, under the lock that kubectl takes too. `change` gets "" for a file that
 * is not there, and answers undefined to leave everything as it is. Any failure leaves it as it was.
 */
export async function editKubeconfig(
  file: string,
  { clock, change }: { readonly clock: Clock; change(text: string): string | undefined },
): Promise<void> {
  try {
    // A link stays a link: what it leads to is replaced.
    const path = await realpath(file).catch(() => file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const unlock = await lock(path, clock);
    try {
      await editLocked(path, change);
    } finally {
      await unlock();
    }
  } catch (error) {
    throw new Error(`the kubeconfig ${file} was not changed: ${messageOf(error)}`, { cause: error });
  }
}

async function editLocked(path: string, change: (text: string) => string | undefined): Promise<void> {
  const existing = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return undefined;
  });
  if (existing && !existing.isFile()) throw new Error("it is not a file");
  if (existing && existing.size > mostBytes) throw new Error("it is too large to be a kubeconfig");
  const text = existing ? await readFile(path, "utf8") : "";
  const changed = change(text);
  if (changed === undefined || changed === text) return;
  const temporary = `${path}.${process.pid}.new`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(changed);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (existing) {
      // With sudo the file stays its user's.
      await chown(temporary, existing.uid, existing.gid);
      // Keys come into it: others may not read it any more.
      await chmod(temporary, existing.mode & 0o700);
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function lock(path: string, clock: Clock): Promise<() => Promise<void>> {
  const lockFile = `${path}.lock`;
  for (let attempt = 1; ; attempt++) {
    try {
      await (await open(lockFile, "wx", 0o600)).close();
      return () => rm(lockFile, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt === lockAttempts)
        throw new Error(`another program is changing it; if none is, remove ${lockFile}`);
      await clock.sleep(lockRetryMs);
    }
  }
}
