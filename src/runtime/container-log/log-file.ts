import { type FileHandle, open } from "node:fs/promises";

/** A log that can be moved away underneath: writes and reopening happen one after the other, so no line is split. */
export interface LogFile {
  append(bytes: Buffer): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Kubelets and their log readers run in root's group. */
const mode = 0o640;

export async function openLogFile(path: string): Promise<LogFile> {
  let file: FileHandle | undefined = await open(path, "a", mode);
  let tail: Promise<void> = Promise.resolve();

  function inTurn(task: () => Promise<void>): Promise<void> {
    const mine = tail.then(task);
    tail = mine.catch(() => {});
    return mine;
  }

  return {
    append: (bytes) =>
      inTurn(async () => {
        if (file && bytes.length > 0) await file.appendFile(bytes);
      }),
    reopen: () =>
      inTurn(async () => {
        const next = await open(path, "a", mode);
        await file?.close();
        file = next;
      }),
    close: () =>
      inTurn(async () => {
        await file?.close();
        file = undefined;
      }),
  };
}
