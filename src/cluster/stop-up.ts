import type { Clock } from "../lib/clock.ts";
import { isAlive, type ProcessIdentity, sendSignal } from "../runtime/driver/linux/process-info.ts";
import { signalNumber } from "../runtime/driver/signal-number.ts";

const lookAgainMs = 50;

/**
 * Asks an `up` to stop and waits until its process is gone: "late" when it is not after `timeoutMs`. The process is
 * known by its start time too, so that nobody else who got its pid is ever signalled.
 */
export async function stopUp(
  process: ProcessIdentity,
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
): Promise<"stopped" | "late"> {
  if (!isAlive(process)) return "stopped";
  sendSignal(process.pid, signalNumber("SIGTERM"));
  const deadline = clock.now() + timeoutMs;
  while (isAlive(process)) {
    if (clock.now() >= deadline) return "late";
    await clock.sleep(lookAgainMs, signal);
  }
  return "stopped";
}
