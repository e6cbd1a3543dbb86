import { dirname } from "node:path";
import { messageOf } from "../../lib/message-of.ts";
import { isStoreError, StoreError } from "../store.ts";

/** The data file has content that Kindling did not write. */
export function corruptFile(file: string, detail: string): StoreError {
  return new StoreError(
    "corrupt",
    `${file} is damaged: ${detail}. Restore it from a backup, or move ${dirname(file)} away to start with an empty store`,
  );
}

/** The file or directory belongs to another program. */
export function unrecognizedFile(path: string, detail: string): StoreError {
  return new StoreError("unrecognized", `${path} ${detail}. Nothing was changed; choose another directory`);
}

export function unreadable(file: string, cause: unknown): StoreError {
  const message = `${file} cannot be read after a failed write; restart the process if this persists`;
  return new StoreError("unavailable", message, { cause });
}

export function commitFailed(file: string, cause: unknown): StoreError {
  if (isStoreError(cause)) return cause;
  if (isOutOfSpace(cause)) {
    return new StoreError("noSpace", `no space left on the device to write ${file}; nothing was written`, {
      cause,
    });
  }
  return new StoreError("unavailable", `${file} could not be written: ${messageOf(cause)}`, { cause });
}

export function openFailed(file: string, cause: unknown): StoreError {
  if (isStoreError(cause)) return cause;
  if (isOutOfSpace(cause))
    return new StoreError("noSpace", `no space left on the device to open ${file}`, { cause });
  return new StoreError("unavailable", `${file} could not be opened: ${messageOf(cause)}`, { cause });
}

// Node reports error names, LMDB reports numbers.
const outOfSpace = new Set<unknown>(["ENOSPC", 28, "EDQUOT", 122]);

function isOutOfSpace(error: unknown): boolean {
  return error instanceof Error && "code" in error && outOfSpace.has(error.code);
}
