import { X509Certificate } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { humanDuration } from "../../lib/human-duration.ts";
import type { Logger } from "../../lib/logger.ts";

/** Smaller changes are normal clock adjustments. */
const noticeableMs = 5_000;
const checkIntervalMs = 10_000;

export interface ClockReading {
  /** Wall-clock time in milliseconds since the epoch. */
  readonly wallMs: number;
  /** Monotonic time in milliseconds. */
  readonly steadyMs: number;
}

/** Change of the wall clock between two readings; 0 if it is negligible. */
export function clockJumpMs(before: ClockReading, after: ClockReading): number {
  const jump = after.wallMs - before.wallMs - (after.steadyMs - before.steadyMs);
  return Math.abs(jump) < noticeableMs ? 0 : jump;
}

/** Describes why a certificate is not valid at this time and what to do. */
export function certificateProblem(
  { validFrom, validTo }: Pick<X509Certificate, "validFrom" | "validTo">,
  now: number,
): string | undefined {
  const advice = "set the clock right, or start the cluster again and a new one is made";
  if (now < Date.parse(validFrom))
    return `the API server's certificate is valid from ${validFrom}: ${advice}`;
  if (now >= Date.parse(validTo)) return `the API server's certificate expired on ${validTo}: ${advice}`;
  return undefined;
}

/**
 * Logs when the clock is set while the cluster runs, or the machine was suspended. Leases need no action, because they
 * are measured from their observation: a node is unknown for a few seconds at most.
 */
export async function watchClock(
  deps: {
    readonly clock: Clock;
    readonly steadyNow: () => number;
    readonly logger: Logger;
    /** Serving certificate of the API server in PEM. */
    readonly certificate: string;
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = deps;
  const certificate = new X509Certificate(deps.certificate);
  const read = (): ClockReading => ({ wallMs: clock.now(), steadyMs: deps.steadyNow() });
  let before = read();
  while (!signal.aborted) {
    await clock.sleep(checkIntervalMs, signal).catch(() => {});
    const after = read();
    const jumpMs = clockJumpMs(before, after);
    before = after;
    if (jumpMs === 0 || signal.aborted) continue;
    const direction = jumpMs > 0 ? "forwards" : "backwards";
    logger.warn(
      `the machine's clock went ${direction} by ${humanDuration(Math.abs(jumpMs))}: ages are wrong by as much, and nodes may be unknown for some seconds`,
    );
    const problem = certificateProblem(certificate, after.wallMs);
    if (problem) logger.error(problem);
  }
}
