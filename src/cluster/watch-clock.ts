import { X509Certificate } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { humanDuration } from "../lib/human-duration.ts";
import type { Logger } from "../lib/logger.ts";

/** Less is what machines do to keep their clocks right. */
const noticeableMs = 5_000;
const lookAgainMs = 10_000;

export interface ClockReading {
  /** Milliseconds since the epoch, as the machine's clock has them. */
  readonly wallMs: number;
  /** Milliseconds that have really passed, since whenever. */
  readonly steadyMs: number;
}

/** By how much the machine's clock was set between two readings; 0 for what is not worth a word. */
export function clockJumpMs(before: ClockReading, after: ClockReading): number {
  const jump = after.wallMs - before.wallMs - (after.steadyMs - before.steadyMs);
  return Math.abs(jump) < noticeableMs ? 0 : jump;
}

/** What is wrong with a certificate at that time, with what helps. */
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
 * Says so when the machine's clock is set while the cluster runs, or the machine slept. Nothing has to be done for
 * leases, which count from when they were seen: a node is unknown for some seconds at most.
 */
export async function watchClock(
  deps: {
    readonly clock: Clock;
    readonly steadyNow: () => number;
    readonly logger: Logger;
    /** PEM of what the API server shows. */
    readonly certificate: string;
  },
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = deps;
  const certificate = new X509Certificate(deps.certificate);
  const read = (): ClockReading => ({ wallMs: clock.now(), steadyMs: deps.steadyNow() });
  let before = read();
  while (!signal.aborted) {
    await clock.sleep(lookAgainMs, signal).catch(() => {});
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
