import { createHash } from "node:crypto";

/** Each divides the longest: nodes that are even over that one are even over all. */
const periodsMs = [1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 24_000] as const;
const [shortestMs] = periodsMs;
const longestMs = 24_000;
/** How many times as long as its events take to be written a node leaves the API server in peace. */
const restPerWrite = 20;
/** Nodes that all hurried again after one quick answer would make the server slow, and so on for ever. */
const calmTurnsBeforeFaster = 16;
const restedAfterMs = 60_000;

/** How often a node tells of its pulls. */
export interface Pace {
  readonly periodMs: number;
  /** How many in a row found the server quick enough for a shorter period. */
  readonly calmTurns: number;
  /** The last one. */
  readonly toldAt: number;
}

/** Of a node that has told of nothing for a while: what it knows of the server is of no use any more. */
export const restedPace: Pace = { periodMs: shortestMs, calmTurns: 0, toldAt: Number.NEGATIVE_INFINITY };

interface Asking {
  readonly now: number;
  /** When the pull that is next began to wait. */
  readonly since: number;
  readonly phaseMs: number;
  /** How long an event takes to be written at the moment. */
  readonly writeMs: number;
}

/**
 * Whether a node may tell of a pull now (0), or in how long to ask again. Turns come when the clock shows the node's
 * phase: kubelets that begin together, as in a rollout, would else write in the same instants, and everybody's requests
 * wait behind 5,000 events. Periods grow at once with the time that the server takes, and shrink slowly.
 */
export function decideTurn(
  before: Pace,
  { now, since, phaseMs, writeMs }: Asking,
): { readonly waitMs: number; readonly pace: Pace } {
  const isRested = now - before.toldAt > restedAfterMs;
  const pace = isRested ? restedPace : slowDown(before, writeMs);
  const turnAt = phaseAfter(Math.max(since, pace.toldAt), { phaseMs, periodMs: pace.periodMs });
  if (turnAt > now) return { waitMs: turnAt - now, pace };
  return { waitMs: 0, pace: { ...speedUp(pace, writeMs), toldAt: now } };
}

function slowDown(pace: Pace, writeMs: number): Pace {
  const periodMs = periodFor(writeMs);
  return periodMs > pace.periodMs ? { ...pace, periodMs, calmTurns: 0 } : pace;
}

function speedUp(pace: Pace, writeMs: number): Pace {
  if (periodFor(writeMs) >= pace.periodMs) return { ...pace, calmTurns: 0 };
  const calmTurns = pace.calmTurns + 1;
  if (calmTurns < calmTurnsBeforeFaster) return { ...pace, calmTurns };
  return { ...pace, calmTurns: 0, periodMs: periodsMs.findLast((ms) => ms < pace.periodMs) ?? shortestMs };
}

function periodFor(writeMs: number): number {
  return periodsMs.find((ms) => ms >= restPerWrite * writeMs) ?? longestMs;
}

function phaseAfter(atMs: number, { phaseMs, periodMs }: { phaseMs: number; periodMs: number }): number {
  const pastMs = (((atMs - phaseMs) % periodMs) + periodMs) % periodMs;
  return atMs + periodMs - pastMs;
}

/** Where in the longest period a node has its turn. */
export function phaseOf(nodeName: string): number {
  return createHash("sha256").update(nodeName).digest().readUInt32BE() % longestMs;
}
