import type { UpRecord } from "../cluster/data-dir/up-record.ts";
import { stopUp } from "../cluster/stop-up.ts";
import { systemClock } from "../lib/clock.ts";
import { untilStopped } from "./until-stopped.ts";

/** How long a stop may take before the command gives up; what it asked for goes on. */
const stopTimeoutMs = 60_000;

/** Stops a running `up`, and says so while it takes its time. */
export async function stopRunning({ process: up }: UpRecord): Promise<void> {
  const { stderr } = process;
  if (stderr.isTTY) stderr.write(`stopping pid ${up.pid} …`);
  try {
    await untilStopped(async (signal) => {
      const result = await stopUp(up, { clock: systemClock, timeoutMs: stopTimeoutMs, signal });
      if (result === "late")
        throw new Error(
          `pid ${up.pid} still stops after ${stopTimeoutMs / 1_000} s: look at its log; kill -9 ${up.pid} loses no data`,
        );
    });
  } finally {
    if (stderr.isTTY) stderr.write("\r\x1b[K");
  }
}
