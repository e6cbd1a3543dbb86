import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { ExecSyncRequest, ExecSyncResponse } from "../../cri/generated/cri.ts";
import type { UnaryRpc } from "../../cri/serve-call.ts";
import { invalidArgument, RuntimeError } from "../runtime-error.ts";
import type { RuntimeState } from "../state/runtime-state.ts";
import { findRunning } from "./find-running.ts";

/** Both outputs must fit into one answer of 16 MiB; what comes after is read and dropped. */
const mostOutputBytes = 7 * 1_024 * 1_024;
/** A timer that is set for longer goes off at once. */
const longestTimerMs = 2 ** 31 - 1;
/** How long outputs may come after the command has ended. */
const drainMs = 1_000;

export function execSync(
  state: Pick<RuntimeState, "containers" | "driver">,
): UnaryRpc<ExecSyncRequest, ExecSyncResponse> {
  return async ({ containerId, cmd, timeout }, { signal }) => {
    const container = findRunning(state, containerId);
    if (cmd.length === 0) throw invalidArgument("cmd is missing");
    const timeoutMs = Math.min(1_000 * Number(timeout), longestTimerMs);
    const late = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    const process = await state.driver.exec(container.id, {
      args: cmd,
      terminal: false,
      stdin: false,
      // A probe whose kubelet went away must not go on for ever.
      signal: late ? AbortSignal.any([late, signal]) : signal,
    });
    const outputs = [process.stdout, process.stderr].map((stream) => collect(stream));
    const exitCode = await process.exitCode;
    // What it left running in the background may keep its outputs open for ever.
    await Promise.race([
      Promise.all(outputs.map(({ ended }) => ended)),
      delay(drainMs, undefined, { ref: false }),
    ]);
    const [stdout, stderr] = outputs.map(({ take }) => take());
    if (late?.aborted)
      throw new RuntimeError("deadlineExceeded", `the command did not end within ${timeout} s: timeout`);
    return { stdout: stdout ?? Buffer.alloc(0), stderr: stderr ?? Buffer.alloc(0), exitCode };
  };
}

/** Reads from now on; `take` ends that and gives what has come so far. */
function collect(stream: Readable | undefined): { ended: Promise<void>; take(): Buffer } {
  const chunks: Buffer[] = [];
  let size = 0;
  const ended = new Promise<void>((resolve) => {
    if (!stream) return resolve();
    stream.on("data", (chunk) => {
      const bytes = Buffer.from(chunk).subarray(0, mostOutputBytes - size);
      size += bytes.length;
      if (bytes.length > 0) chunks.push(bytes);
    });
    // Killed, it may end with an error instead: what came before counts.
    for (const event of ["end", "close", "error"]) stream.on(event, () => resolve());
  });
  return {
    ended,
    take() {
      stream?.destroy();
      return Buffer.concat(chunks);
    },
  };
}
