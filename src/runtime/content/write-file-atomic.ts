import { rename, rm, writeFile } from "node:fs/promises";

let count = 0;

/**
 * The file is either as it was or wholly new, however this process ends. It is not synced: that would cost more than
 * the rest of a pull, and after a crash of the machine what did not reach the disk is noticed and pulled again.
 */
export async function writeFileAtomic(file: string, data: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${process.pid}-${count++}.tmp`;
  try {
    await writeFile(temporary, data, { flag: "wx", mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
