import { type Duplex, pipeline } from "node:stream";

/** How long what is still on its way to one side may take once the other side has ended. */
const lingerMs = 10_000;

/**
 * Carries bytes both ways until one side ends, then closes both. A side that is not read stops the other from
 * being read, so that nothing piles up here.
 */
export async function joinSockets(a: Duplex, b: Duplex): Promise<void> {
  const timers: NodeJS.Timeout[] = [];
  await new Promise<void>((resolve) => {
    const carry = (from: Duplex, to: Duplex) => {
      // Errors only tell how a side ended, and may come after the pipeline has stopped listening.
      from.on("error", () => {});
      from.once("end", () => timers.push(setTimeout(resolve, lingerMs)));
      pipeline(from, to, () => resolve());
    };
    carry(a, b);
    carry(b, a);
  });
  for (const timer of timers) clearTimeout(timer);
  a.destroy();
  b.destroy();
}
