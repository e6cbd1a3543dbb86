const atMostEveryMs = 1_000;
/** How many times as long as its events take to be written a node leaves the API server in peace. */
const restPerWrite = 20;
/** Reports come each second: who has not asked for so long has nothing to tell any more, or has ended. */
const forgottenAfterMs = 3_000;

/**
 * However many images a node pulls at once, their progress is one request a second to the API server at most, and fewer
 * when the server is slow to take events: 5,000 nodes may be sharing it. Who is told to wait asks again with its next
 * report, and has its turn before those that came later.
 */
export function createProgressPace(eventWriteMs: () => number): (pull: object, now: number) => boolean {
  /** In the order in which they began to wait, with the time they last asked. */
  const waiting = new Map<object, number>();
  let lastAt = Number.NEGATIVE_INFINITY;

  return (pull, now) => {
    waiting.set(pull, now);
    const spareMs = now - lastAt - Math.max(atMostEveryMs, restPerWrite * eventWriteMs());
    if (spareMs < 0) return false;
    // Where reports come more seldom, each would find others before it that do not ask again in time.
    const inTurn = spareMs < forgottenAfterMs;
    for (const [first, askedAt] of waiting) {
      if (inTurn && first !== pull && now - askedAt < forgottenAfterMs) return false;
      waiting.delete(first);
      if (first === pull) break;
    }
    lastAt = now;
    return true;
  };
}
