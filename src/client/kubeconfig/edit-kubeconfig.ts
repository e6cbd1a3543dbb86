import { mkdir, open, readFile, realpath, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { writeFileDurably } from "../../lib/fs/write-file-atomic.ts";
import { messageOf } from "../../lib/message-of.ts";

/** The user's kubeconfig: the first file of $KUBECONFIG, else ~/.kube/config. */
export function usersKubeconfig(variable: string | undefined): string {
  const [first] = (variable ?? "").split(delimiter).filter(Boolean);
  return first ?? join(homedir(), ".kube", "config");
}

/** Sanity limit for the size of a kubeconfig. */
const maxBytes = 16 * 1_024 * 1_024;
const lockAttempts = 20;
const lockRetryMs = 100;

/**
 * Edits a kubeconfig atomically, under the same lock as kubectl. `change` receives "" for a missing file and returns
 * undefined to keep the file. A failure leaves the file unchanged.
 */
export async function editKubeconfig(
  file: string,
  { clock, change }: { readonly clock: Clock; change(text: string): string | undefined },
): Promise<void> {
  try {
    // Replaces the target of a symbolic link, not the link.
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
  if (existing && existing.size > maxBytes) throw new Error("it is too large to be a kubeconfig");
  const text = existing ? await readFile(path, "utf8") : "";
  const changed = change(text);
  if (changed === undefined || changed === text) return;
  await writeFileDurably(path, changed, {
    // The file will contain private keys: group and others lose access.
    mode: existing ? existing.mode & 0o700 : 0o600,
    // With sudo the file keeps its owner.
    owner: existing,
    existing: "replace",
  });
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
        throw new Error(`another process is changing it; if there is none, remove ${lockFile}`);
      await clock.sleep(lockRetryMs);
    }
  }
}
