import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import type { Clock } from "../../../lib/clock.ts";

/**
 * All that `runc start` does, without its 20 ms: runc's init waits until somebody opens its pipe, writes one byte and
 * becomes the container's program; the pipe is taken away to say that this has happened.
 */
export async function releaseInit(
  fifo: string,
  init: { isAlive: () => boolean; clock: Clock },
): Promise<void> {
  // A plain open would wait for a writer, for ever when init has just died.
  const pipe = await open(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    for (;;) {
      // Asked before reading: a short program may have come and gone, and its byte is still in the pipe.
      const alive = init.isAlive();
      if (await hasByte(pipe)) break;
      if (!alive) throw new Error("its process has ended");
      await init.clock.sleep(1);
    }
  } finally {
    await pipe.close();
  }
  await rm(fifo, { force: true });
}

async function hasByte(pipe: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  try {
    return (await pipe.read(Buffer.alloc(1), 0, 1)).bytesRead > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
    throw error;
  }
}
