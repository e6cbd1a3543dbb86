import type { Lease } from "../api/objects.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Client } from "./client.ts";
import { decideLease, type Observation, observeLease, releasedSpec } from "./decide-lease.ts";
import { isNotFound } from "./status-errors.ts";
import { withDeadline } from "./with-deadline.ts";

export interface LeaderElectionOptions {
  readonly client: Pick<Client, "get" | "create" | "update">;
  /** Of the lease. */
  readonly namespace: string;
  readonly name: string;
  /** Different for each process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long others leave a lease alone that is not renewed. */
  readonly leaseDurationMs?: number;
  /** How long a leader that cannot renew goes on. Shorter: it must have stopped before another one begins. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly random?: () => number;
}

/**
 * Does the work whenever this process is the leader: its signal aborts when leadership is lost, and the work begins again
 * when it is won again. Resolves when the work ends by itself or the signal aborts, with the lease released.
 */
export async function runWhileLeader(
  options: LeaderElectionOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const election = createElection(options);
  while (!signal.aborted) {
    if (!(await election.win(signal))) return;
    if ((await lead(election, work, signal)) === "finished") return;
  }
}

async function lead(
  election: Election,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<"finished" | "lost"> {
  const working = new AbortController();
  const renewing = new AbortController();
  const stop = () => working.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  // Renewed until the work has really ended: while it winds up, nobody else may begin.
  const kept = election.keep(renewing.signal).then((outcome) => {
    if (outcome === "lost") working.abort(new Error("leadership is lost"));
    return outcome;
  });
  try {
    await work(working.signal);
  } catch (error) {
    if (!working.signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    renewing.abort();
    if ((await kept) === "stopped") await election.release();
  }
  return working.signal.aborted && !signal.aborted ? "lost" : "finished";
}

interface Election {
  /** Until the lease is ours; false when the signal aborts. */
  win(signal: AbortSignal): Promise<boolean>;
  /** Renews until that fails for too long, or until the signal aborts. */
  keep(signal: AbortSignal): Promise<"lost" | "stopped">;
  release(): Promise<void>;
}

/** Whoever stops does not wait for a busy server any longer, and the next one has to wait for the lease to run out. */
const releaseMs = 5_000;

/** Ours, another's, or unknown. */
type Attempt = "held" | "other" | "failed";

function createElection(options: LeaderElectionOptions): Election {
  const { client, namespace, name, identity, clock, random = Math.random } = options;
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  if (leaseDurationMs <= renewDeadlineMs)
    throw new Error("leaseDurationMs must be greater than renewDeadlineMs");
  if (renewDeadlineMs <= retryPeriodMs) throw new Error("renewDeadlineMs must be greater than retryPeriodMs");
  const logger = options.logger.component("leader-election");
  const about = { lease: `${namespace}/${name}`, identity };
  let observed: Observation | undefined;
  /** As the server last gave it to us as ours: the next renewal needs no look at it first. */
  let held: Lease | undefined;
  let reportedHolder: string | undefined;

  function reportHolder(holder: string): void {
    if (holder === reportedHolder) return;
    reportedHolder = holder;
    logger.info(holder === identity ? "became the leader" : "another is the leader", { ...about, holder });
  }

  async function read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      return await client.get("leases", { namespace, name }, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function holdOrRenew(signal: AbortSignal): Promise<Attempt> {
    const lease = held ?? (await read(signal));
    held = undefined;
    if (lease) observed = observeLease(observed, lease, clock.now());
    const action = decideLease({
      identity,
      leaseDurationMs,
      now: clock.now(),
      lease,
      observedAt: observed?.at ?? clock.now(),
    });
    switch (action.kind) {
      case "wait":
        reportHolder(action.holder);
        return "other";
      case "create": {
        const metadata = { namespace, name };
        const fresh = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: action.spec };
        held = await client.create("leases", fresh, { signal });
        break;
      }
      case "update":
        // With the version that was read: of two that try at the same time, one is refused.
        if (lease) held = await client.update("leases", { ...lease, spec: action.spec }, { signal });
        break;
    }
    reportHolder(identity);
    return "held";
  }

  /** One try that takes no longer than it may. */
  async function attempt(timeoutMs: number, signal: AbortSignal): Promise<Attempt> {
    try {
      return await withDeadline({ clock, timeoutMs, signal }, holdOrRenew);
    } catch (error) {
      if (!signal.aborted) logger.debug("cannot hold the lease", { ...about, error });
      return "failed";
    }
  }

  return {
    async win(signal) {
      while (!signal.aborted) {
        if ((await attempt(renewDeadlineMs, signal)) === "held") return true;
        // Spread, so that candidates do not all try at the same moment.
        await clock.sleep(retryPeriodMs * (1 + 1.2 * random()), signal).catch(() => {});
      }
      return false;
    },

    async keep(signal) {
      let renewedAt = clock.now();
      for (;;) {
        await clock.sleep(retryPeriodMs, signal).catch(() => {});
        if (signal.aborted) return "stopped";
        const startedAt = clock.now();
        const leftMs = renewedAt + renewDeadlineMs - startedAt;
        const outcome = leftMs > 0 ? await attempt(leftMs, signal) : "failed";
        if (outcome === "held") renewedAt = startedAt;
        else if (signal.aborted) return "stopped";
        else if (outcome === "other" || clock.now() >= renewedAt + renewDeadlineMs) {
          reportedHolder = undefined;
          logger.warn("lost the lease", about);
          return "lost";
        }
      }
    },

    async release() {
      const known = held;
      held = undefined;
      reportedHolder = undefined;
      try {
        await withDeadline({ clock, timeoutMs: releaseMs }, async (signal) => {
          // Stopped in the middle of a renewal: only the server knows which version it has now.
          const lease = known ?? (await read(signal));
          if (lease?.spec?.holderIdentity !== identity) return;
          await client.update(
            "leases",
            { ...lease, spec: releasedSpec(lease.spec, clock.now()) },
            { signal },
          );
        });
      } catch (error) {
        // It runs out by itself.
        logger.warn("cannot release the lease", { ...about, error });
      }
    },
  };
}
