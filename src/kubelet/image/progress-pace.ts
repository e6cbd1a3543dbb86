import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";
import { decideTurn, phaseOf, restedPace } from "./decide-turn.ts";

interface ProgressPaceOptions {
  readonly nodeName: string;
  /** How long an event takes to be written at the moment. */
  readonly eventWriteMs: () => number;
  readonly clock: Clock;
}

/**
 * However many images a node pulls at once, their progress is one request a second to the API server at most. Waits for
 * a pull's turn, behind those that came before it; rejects when its signal aborts.
 */
export function createProgressPace(options: ProgressPaceOptions): (signal: AbortSignal) => Promise<void> {
  const { nodeName, eventWriteMs, clock } = options;
  const phaseMs = phaseOf(nodeName);
  const oneAtATime = createLimiter(1);
  let pace = restedPace;

  return (signal) => {
    const since = clock.now();
    return oneAtATime(async () => {
      for (;;) {
        const turn = decideTurn(pace, { now: clock.now(), since, phaseMs, writeMs: eventWriteMs() });
        pace = turn.pace;
        if (turn.waitMs === 0) return;
        await clock.sleep(turn.waitMs, signal);
      }
    }, signal);
  };
}
