import { performance } from "node:perf_hooks";

const lookMs = 1;
/** Of the time between two looks, so much work at most is none. */
const mostActive = 0.3;
const quietLooks = 2;
/** Somebody else in this process may never be quiet. */
const patienceMs = 150;

/**
 * Resolves when this process has nothing to do but wait: everything of a cluster is in it, so that what its parts
 * have said to each other by then has been heard.
 */
export async function settle(): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let quiet = 0; quiet < quietLooks && performance.now() < deadline; ) {
    const before = performance.eventLoopUtilization();
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    const { utilization } = performance.eventLoopUtilization(before);
    quiet = utilization <= mostActive && !readsFiles() ? quiet + 1 : 0;
  }
}

/** Other threads do that for the loop, which is idle meanwhile. */
function readsFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq"));
}
