import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";

/** The sha256 of a file, taken while the file is still being written. */
export interface GrowingHash {
  /** So many bytes are there; `last` when no more come. */
  advance(bytes: number, options: { last: boolean }): void;
  cancel(): void;
  readonly digest: Promise<string>;
}

const chunkBytes = 1 << 20;
/** Lent to one hash after the other: forty layers would else have forty of them. */
const buffers: Buffer[] = [];

export function createGrowingHash(file: string): GrowingHash {
  let available = 0;
  let ended = false;
  let cancelled = false;
  let wake: (() => void) | undefined;

  async function run(): Promise<string> {
    const hash = createHash("sha256");
    const buffer = buffers.pop() ?? Buffer.allocUnsafe(chunkBytes);
    let handle: FileHandle | undefined;
    let position = 0;
    try {
      for (;;) {
        if (cancelled) throw new Error("cancelled");
        if (position < available) {
          handle ??= await open(file);
          const length = Math.min(chunkBytes, available - position);
          const { bytesRead } = await handle.read(buffer, 0, length, position);
          if (bytesRead === 0) throw new Error(`${file} is shorter than it should be`);
          hash.update(buffer.subarray(0, bytesRead));
          position += bytesRead;
        } else if (ended) {
          return `sha256:${hash.digest("hex")}`;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      buffers.push(buffer);
      await handle?.close();
    }
  }

  function advance(bytes: number, { last }: { last: boolean }): void {
    available = Math.max(available, bytes);
    ended ||= last;
    wake?.();
  }

  return {
    advance,
    cancel() {
      cancelled = true;
      wake?.();
    },
    digest: run(),
  };
}
