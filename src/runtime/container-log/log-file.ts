import { type FileHandle, open } from "node:fs/promises";

/** A log that can be moved away underneath: writes and reopening happen one after the other, so no line is split. */
export interface LogFile {
  /** What a full or broken disk does not take is lost, as with other runtimes: a container does not stand still for it. */
  append(bytes: Buffer): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Kubelets and their log readers run in root's group. */
const mode = 0o640;
const newline = Buffer.from("\n");

export async function openLogFile(
  path: string,
  /** Called at the first loss, and at the first after something was written again. */
  onLoss: (error: unknown) => void,
): Promise<LogFile> {
  let file: FileHandle | undefined = await open(path, "a", mode);
  let tail: Promise<void> = Promise.resolve();
  /** After a loss: whether it left a part of a line, which the next one must not go on. */
  let lost: { readonly torn: boolean } | undefined;

  function inTurn(task: () => Promise<void>): Promise<void> {
    const mine = tail.then(task);
    tail = mine.catch(() => {});
    return mine;
  }

  async function write(to: FileHandle, bytes: Buffer): Promise<void> {
    const whole = lost?.torn ? Buffer.concat([newline, bytes]) : bytes;
    let written = 0;
    try {
      while (written < whole.length) written += (await to.write(whole, written)).bytesWritten;
      lost = undefined;
    } catch (error) {
      if (!lost) onLoss(error);
      lost = { torn: written > 0 || lost?.torn === true };
    }
  }

  return {
    append: (bytes) =>
      inTurn(async () => {
        if (file && bytes.length > 0) await write(file, bytes);
      }),
    reopen: () =>
      inTurn(async () => {
        const next = await open(path, "a", mode);
        await file?.close();
        file = next;
        // What is torn stays behind in the old one.
        if (lost) lost = { torn: false };
      }),
    close: () =>
      inTurn(async () => {
        await file?.close();
        file = undefined;
      }),
  };
}
