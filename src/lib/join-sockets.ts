import type { Duplex } from "node:stream";

/** Time to deliver pending data after one side has ended. */
const lingerMs = 10_000;

/**
 * Pipes two sockets in both directions until one side has ended and all of its data is written, or until one is broken; then
 * closes both. Backpressure of one side pauses reading from the other, so nothing accumulates. `pipeline` of Node.js would
 * add so many listeners to each socket that Node.js warns of a leak.
 */
export async function joinSockets(a: Duplex, b: Duplex): Promise<void> {
  const timers: NodeJS.Timeout[] = [];
  await new Promise<void>((resolve) => {
    const carry = (from: Duplex, to: Duplex) => {
      const isDone = () => from.readableEnded && to.writableFinished;
      // Errors only end the connection, and may be emitted after it has ended.
      from.on("error", () => {});
      from.once("end", () => {
        if (isDone()) resolve();
        else timers.push(setTimeout(resolve, lingerMs));
      });
      from.once("close", () => {
        // After its end, what was read from it may not have been written yet.
        if (!from.readableEnded) resolve();
      });
      // A socket whose peer has ended finishes too, before what was read from it is written.
      to.once("finish", () => {
        if (isDone()) resolve();
      });
      if (from.destroyed) resolve();
      from.pipe(to);
    };
    carry(a, b);
    carry(b, a);
  });
  for (const timer of timers) clearTimeout(timer);
  a.destroy();
  b.destroy();
}
