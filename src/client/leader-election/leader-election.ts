import type { Lease } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Client } from "../api/client.ts";
import { isConflict } from "../transport/status-errors.ts";
import { decideLease, type Observation, observeLease, readLease, releasedSpec } from "./decide-lease.ts";

export interface LeaderElectionOptions {
  readonly client: Pick<Client, "get" | "create" | "update">;
  /** Namespace of the lease. */
  readonly namespace: string;
  readonly name: string;
  /** Unique per process. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Time without renewal after which another candidate may acquire the lease. */
  readonly leaseDurationMs?: number;
  /** Time after which a leader that cannot renew stops. Shorter than leaseDurationMs, so that it stops before another one starts. */
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Measures how long the lease has not changed, unaffected by clocks that are set. Defaults to the clock's time. */
  readonly monotonicMs?: () => number;
  /** Called when another process holds the lease, once for each holder. */
  readonly onOtherHolder?: (holder: string) => void;
  readonly random?: () => number;
}

/**
 * Runs the work while this process is the leader. The work's signal aborts when leadership is lost; the work restarts
 * when it is acquired again. Resolves when the work finishes or the signal aborts, after releasing the lease.
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
  // Renews until the work has ended, so that no other leader starts while it shuts down.
  const kept = election.keep(renewing.signal).then((outcome) => {
    if (outcome === "lost") working.abort(new Error("leadership was lost"));
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
  /** Waits until the lease is acquired; false when the signal aborts. */
  win(signal: AbortSignal): Promise<boolean>;
  /** Renews until that fails for too long, or until the signal aborts. */
  keep(signal: AbortSignal): Promise<"lost" | "stopped">;
  release(): Promise<void>;
}

/** Timeout for releasing the lease on shutdown. If it fails, the next leader waits for the lease to expire. */
const releaseMs = 5_000;

type Attempt = "held" | "other" | "failed";

function createElection(options: LeaderElectionOptions): Election {
  const { client, namespace, name, identity, clock, onOtherHolder, random = Math.random } = options;
  const { monotonicMs = clock.now } = options;
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  if (leaseDurationMs <= renewDeadlineMs)
    throw new Error("leaseDurationMs must be greater than renewDeadlineMs");
  if (renewDeadlineMs <= retryPeriodMs) throw new Error("renewDeadlineMs must be greater than retryPeriodMs");
  const logger = options.logger.component("leader-election");
  const about = { lease: `${namespace}/${name}`, identity };
  let observed: Observation | undefined;
  /** Lease as last written by this process, which saves a read before the next renewal. */
  let held: Lease | undefined;
  let reportedHolder: string | undefined;
  /** Whether the log says that the lease may not be read or written. */
  let isForbidden = false;

  function reportHolder(holder: string): void {
    if (holder === reportedHolder) return;
    reportedHolder = holder;
    if (holder !== identity) onOtherHolder?.(holder);
    logger.info(holder === identity ? "became the leader" : "another is the leader", { ...about, holder });
  }

  const read = (signal: AbortSignal) => readLease(client, { namespace, name }, { signal });

  async function holdOrRenew(signal: AbortSignal): Promise<Attempt> {
    const lease = held ?? (await read(signal));
    held = undefined;
    const now = clock.now();
    if (lease) observed = observeLease(observed, lease, monotonicMs());
    const unchangedMs = observed ? monotonicMs() - observed.at : 0;
    const action = decideLease({ identity, leaseDurationMs, now, lease, observedAt: now - unchangedMs });
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
        // The resourceVersion makes the server reject one of two concurrent candidates.
        if (lease) held = await client.update("leases", { ...lease, spec: action.spec }, { signal });
        break;
    }
    reportHolder(identity);
    return "held";
  }

  /** Tries again at once if the known lease is outdated: it was annotated, and may still have this holder. */
  async function holdOrReread(signal: AbortSignal): Promise<Attempt> {
    const isKnown = held !== undefined;
    try {
      return await holdOrRenew(signal);
    } catch (error) {
      if (!isKnown || !isConflict(error)) throw error;
      return holdOrRenew(signal);
    }
  }

  /** Tries once, with a timeout. */
  async function attempt(timeoutMs: number, signal: AbortSignal): Promise<Attempt> {
    try {
      return await withDeadline({ clock, timeoutMs, signal }, holdOrReread);
    } catch (error) {
      const isNews = error instanceof StatusError && error.code === 403 && !isForbidden;
      isForbidden ||= isNews;
      const log = isNews ? logger.warn : logger.debug;
      if (!signal.aborted) log("failed to acquire or renew the lease", { ...about, error });
      return "failed";
    }
  }

  return {
    async win(signal) {
      while (!signal.aborted) {
        if ((await attempt(renewDeadlineMs, signal)) === "held") return true;
        // Jitter prevents candidates from trying simultaneously.
        await clock.sleep(retryPeriodMs * (1 + 1.2 * random()), signal).catch(() => {});
      }
      return false;
    },

    async keep(signal) {
      let renewedAt = monotonicMs();
      for (;;) {
        await clock.sleep(retryPeriodMs, signal).catch(() => {});
        if (signal.aborted) return "stopped";
        const startedAt = monotonicMs();
        const leftMs = renewedAt + renewDeadlineMs - startedAt;
        const outcome = leftMs > 0 ? await attempt(leftMs, signal) : "failed";
        if (outcome === "held") renewedAt = startedAt;
        else if (signal.aborted) return "stopped";
        else if (outcome === "other" || monotonicMs() >= renewedAt + renewDeadlineMs) {
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
          // After an aborted renewal the current version is unknown.
          const lease = known ?? (await read(signal));
          if (lease?.spec?.holderIdentity !== identity) return;
          await client.update(
            "leases",
            { ...lease, spec: releasedSpec(lease.spec, clock.now()) },
            { signal },
          );
        });
      } catch (error) {
        // The lease expires.
        logger.warn("failed to release the lease; it will expire", { ...about, error });
      }
    },
  };
}
