import type { UpRecord } from "../../cluster/data-dir/data-dir-files.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { signalNumber } from "../../runtime/drivers/common-operations.ts";
import { isAlive, type ProcessIdentity, sendSignal } from "../../runtime/drivers/linux/process-info.ts";

/** Runs a function and aborts it on SIGINT or SIGTERM. A second signal exits the process immediately. */
export async function untilStopped(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort(new Error("stopped by a signal"));
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  try {
    await run(stop.signal);
  } finally {
    process.off("SIGINT", onSignal);
    process.off("SIGTERM", onSignal);
  }
}

/** Like untilStopped, for servers: being stopped by a signal is not an error. */
export function serveUntilStopped(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  return untilStopped((signal) =>
    run(signal).catch((error: unknown) => {
      if (!signal.aborted || error !== signal.reason) throw error;
    }),
  );
}

let isStopping = false;

/** Ends the command when the reader of its output has exited (`kindling --help | head`, a closed terminal). */
export function stopWhenOutputCloses(): void {
  // Tests run several command lines in one process.
  for (const output of [process.stdout, process.stderr]) output.off("error", stopOnce).on("error", stopOnce);
}

/** Stops a server or the tour as SIGTERM does, and exits from other commands. A second SIGTERM would skip the clean-up. */
export function stopOnce(): void {
  if (isStopping) return;
  isStopping = true;
  if (process.listenerCount("SIGTERM") > 0) process.kill(process.pid, "SIGTERM");
  else process.exit(0);
}

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
