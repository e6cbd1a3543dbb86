import type { UpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { signalNumber } from "../../runtime/drivers/common-operations.ts";
import { isAlive, type ProcessIdentity, sendSignal } from "../../runtime/drivers/linux/process-info.ts";
import { untilStopped } from "./until-stopped.ts";

/** Time limit for a stop. After it the command fails, but the cluster keeps stopping. */
const stopTimeoutMs = 60_000;

/** Stops a running `up` and shows a message on the terminal meanwhile. */
export async function stopRunning({ process: up }: UpRecord): Promise<void> {
  const { stderr } = process;
  if (stderr.isTTY) stderr.write(`stopping pid ${up.pid} …`);
  try {
    await untilStopped(async (signal) => {
      const result = await stopUp(up, { clock: systemClock, timeoutMs: stopTimeoutMs, signal });
      if (result === "late")
        throw new Error(
          `pid ${up.pid} has not stopped after ${stopTimeoutMs / 1_000} s: check its log, or end it with kill -9 ${up.pid} (no data is lost)`,
        );
    });
  } finally {
    if (stderr.isTTY) stderr.write("\r\x1b[K");
  }
}

const pollIntervalMs = 50;

/**
 * Signals an `up` to stop and waits for its exit; returns "late" after `timeoutMs`. The process is identified by its start
 * time too, so that a process with a reused pid is never signalled.
 */
async function stopUp(
  process: ProcessIdentity,
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
): Promise<"stopped" | "late"> {
  if (!isAlive(process)) return "stopped";
  sendSignal(process.pid, signalNumber("SIGTERM"));
  const deadline = clock.now() + timeoutMs;
  while (isAlive(process)) {
    if (clock.now() >= deadline) return "late";
    await clock.sleep(pollIntervalMs, signal);
  }
  return "stopped";
}
