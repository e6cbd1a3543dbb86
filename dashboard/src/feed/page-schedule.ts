/** No eye follows more changes than these; between two of them the page is left in peace. */
const shortestMs = 80;
/** A hidden page draws no frames, but what it is told must not pile up. */
const hiddenMs = 1_000;

/** Runs something in the next frame that is due. */
export function createPageSchedule(): (flush: () => void) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (flush) => {
    let done = false;
    const run = () => {
      if (done) return;
      done = true;
      lastMs = performance.now();
      flush();
    };
    const waitMs = Math.max(0, lastMs + shortestMs - performance.now());
    setTimeout(() => requestAnimationFrame(run), waitMs);
    setTimeout(run, waitMs + hiddenMs);
  };
}
