/** As much of a file as is needed here. */
export interface ReadableFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

const blockBytes = 16 * 1_024;
const newline = 0x0a;

/** Where the last `lines` lines of a file of `size` bytes begin. One without its end is not counted. */
export async function findTailStart(file: ReadableFile, size: number, lines: number): Promise<number> {
  const block = Buffer.alloc(blockBytes);
  let ends = 0;
  for (let right = size; right > 0; ) {
    const left = Math.max(0, right - blockBytes);
    const { bytesRead } = await file.read(block, 0, right - left, left);
    for (let at = bytesRead - 1; at >= 0; at--) {
      if (block[at] !== newline) continue;
      // The line that is wanted first begins behind the end of the one before it.
      if (++ends > lines) return left + at + 1;
    }
    right = left;
  }
  return 0;
}
