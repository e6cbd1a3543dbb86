import type { Lease } from "../../api/meta/objects.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client } from "../api/client.ts";
import { decideLease, type Observation, observeLease, readLease } from "./decide-lease.ts";

export interface UnclaimedLeaseOptions {
  readonly client: Pick<Client, "get">;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Measures how long the lease has not changed, unaffected by clocks that are set. */
  readonly monotonicMs: () => number;
  /** Called when another process holds the lease, once for each holder. */
  readonly onOtherHolder: (holder: string) => void;
}

const checkMs = 2_000;
const answerMs = 10_000;
/** Duration of a lease that does not have one. */
const leaseDurationMs = 15_000;

/**
 * Does the work while no other process holds and renews a lease, without holding it itself. The work's signal aborts
 * when another process takes the lease; the work begins again once the lease has not been renewed for its duration.
 */
export async function runWhileUnclaimed(
  options: UnclaimedLeaseOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = options;
  const lease = createLeaseObserver(options);
  while (!signal.aborted) {
    const state = await lease.check(signal);
    if (state === "unclaimed" && !(await isClaimedDuring(work, { lease, clock, signal }))) return;
    await clock.sleep(checkMs, signal).catch(() => {});
  }
}

interface Watched {
  readonly lease: LeaseObserver;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Whether the work was ended because another process took the lease. */
async function isClaimedDuring(
  work: (signal: AbortSignal) => Promise<void>,
  { lease, clock, signal }: Watched,
): Promise<boolean> {
  const claimed = new AbortController();
  const done = new AbortController();
  async function watch(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await clock.sleep(checkMs, stop).catch(() => {});
      // The work continues if the lease cannot be read.
      if (!stop.aborted && (await lease.check(stop)) === "claimed")
        return claimed.abort(new Error("another process has taken the lease"));
    }
  }
  const watching = watch(AbortSignal.any([signal, done.signal]));
  try {
    await work(AbortSignal.any([signal, claimed.signal]));
  } catch (error) {
    if (!claimed.signal.aborted) throw error;
  } finally {
    done.abort();
    await watching;
  }
  return claimed.signal.aborted;
}

interface LeaseObserver {
  check(signal: AbortSignal): Promise<"claimed" | "unclaimed" | "unknown">;
}

function createLeaseObserver(options: UnclaimedLeaseOptions): LeaseObserver {
  const { client, namespace, name, clock, logger, monotonicMs, onOtherHolder } = options;
  let observed: Observation | undefined;
  let reported: string | undefined;
  let isFailing = false;
  const read = (signal: AbortSignal) => readLease(client, { namespace, name }, { signal });

  function holderOf(lease: Lease | undefined): string | undefined {
    if (!lease) return undefined;
    observed = observeLease(observed, lease, monotonicMs());
    const facts = { identity: "", leaseDurationMs, now: monotonicMs(), lease, observedAt: observed.at };
    const action = decideLease(facts);
    return action.kind === "wait" ? action.holder : undefined;
  }

  return {
    async check(signal) {
      try {
        const holder = holderOf(await withDeadline({ clock, timeoutMs: answerMs, signal }, read));
        isFailing = false;
        if (holder !== undefined && holder !== reported) onOtherHolder(holder);
        reported = holder;
        return holder === undefined ? "unclaimed" : "claimed";
      } catch (error) {
        if (!isFailing && !signal.aborted)
          logger.warn("cannot read the lease, trying again", { lease: `${namespace}/${name}`, error });
        isFailing = true;
        return "unknown";
      }
    },
  };
}
