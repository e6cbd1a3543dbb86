import { dirname } from "node:path";
import { messageOf } from "../../lib/message-of.ts";
import { isStoreError, StoreError } from "../store-error.ts";

/** The data file holds what nothing of ours has written there. */
export function corruptFile(file: string, detail: string): StoreError {
  return new StoreError(
    "corrupt",
    `${file} is damaged: ${detail}. Restore it from a backup, or move ${dirname(file)} away to begin empty`,
  );
}

/** The file or directory belongs to somebody else. */
export function foreignFile(path: string, detail: string): StoreError {
  return new StoreError("foreign", `${path} ${detail}. Nothing was changed; choose another directory`);
}

export function unreadable(file: string, cause: unknown): StoreError {
  const message = `${file} cannot be read after a failed write; if that lasts, restart`;
  return new StoreError("unavailable", message, { cause });
}

export function commitFailed(file: string, cause: unknown): StoreError {
  if (isStoreError(cause)) return cause;
  if (isOutOfSpace(cause)) {
    return new StoreError("noSpace", `no space left to write ${file}; nothing was written`, { cause });
  }
  return new StoreError("unavailable", `${file} could not be written: ${messageOf(cause)}`, { cause });
}

export function openFailed(file: string, cause: unknown): StoreError {
  if (isStoreError(cause)) return cause;
  if (isOutOfSpace(cause)) return new StoreError("noSpace", `no space left to open ${file}`, { cause });
  return new StoreError("unavailable", `${file} could not be opened: ${messageOf(cause)}`, { cause });
}

// Node has the names of the operating system's errors, LMDB the numbers.
const outOfSpace = new Set<unknown>(["ENOSPC", 28, "EDQUOT", 122]);

function isOutOfSpace(error: unknown): boolean {
  return error instanceof Error && "code" in error && outOfSpace.has(error.code);
}
