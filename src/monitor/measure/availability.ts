// Clauses: 3085-16
import type { Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";

/** Watches that the monitor needs to evaluate a pod. */
export type WatchName = "pods" | "events";

/**
 * Record of the times in which the monitor could not observe the cluster: the API server was unavailable, the monitor
 * was stopped or suspended, or a clock was set. These times are not counted against a pod.
 *
 *     unknown ──read──▶ available ──watch lost, read failed, or no read for too long──▶ unavailable
 *                               ▲────────────── read, with every watch open ─────────────┘
 *
 * All times are the cluster's, in milliseconds.
 */
interface Availability {
  /**
   * A consistent read succeeded. Returns whether it shows that the API server was available at `sentMs`: not when the
   * clock was set or the process was suspended in between, and not while a watch is lost.
   */
  readSucceeded(read: { readonly sentMs: number; readonly receivedMs: number }): boolean;
  /** A read failed. */
  readFailed(nowMs: number): void;
  watchLost(watch: WatchName, nowMs: number): void;
  watchOpened(watch: WatchName): void;
  /** Part of this period that is not counted. */
  unavailableMs(fromMs: number, untilMs: number): number;
  /** Last time at which the API server was known to be available. Undefined before the first read. */
  knownUntilMs(): number | undefined;
}

/** Part of the interface for evaluating pods. */
export type AvailabilityRecord = Pick<Availability, "unavailableMs" | "knownUntilMs">;

interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Time by which kubelets have written the statuses that they could not write during the outage. */
  readonly reportedMs: number;
}

/** The API server counts as unavailable after this time without a successful read. Reads are more frequent. */
const maxGapMs = 15_000;
/** Kubelets retry with back-off: they report within the duration of the outage, but at most within this time. */
const maxReportMs = 30_000;
const maxOutages = 500;

export function createAvailability(): Availability {
  /** Oldest first. */
  let outages: readonly Outage[] = [];
  let knownMs: number | undefined;
  let brokenMs: number | undefined;
  const lost = new Set<WatchName>();

  function end(fromMs: number, untilMs: number): void {
    const reportedMs = untilMs + Math.min(untilMs - fromMs, maxReportMs);
    outages = mergeOldest([...outages, { fromMs, untilMs, reportedMs }]);
  }

  return {
    readSucceeded({ sentMs, receivedMs }) {
      const isTimed = sentMs <= receivedMs && receivedMs - sentMs <= maxGapMs;
      // No read takes longer than the gap, so a much older one means that the clock was set back.
      const isOlder = brokenMs !== undefined && sentMs < brokenMs && brokenMs - sentMs <= maxGapMs;
      if (!isTimed || isOlder || lost.size > 0) return false;
      if (knownMs === undefined || sentMs < knownMs - maxGapMs) {
        // First read, or the clock was set back: earlier times are meaningless.
        outages = [];
        end(Number.NEGATIVE_INFINITY, sentMs);
        knownMs = sentMs;
      } else if (brokenMs !== undefined || sentMs - knownMs > maxGapMs) end(knownMs, sentMs);
      brokenMs = undefined;
      knownMs = Math.max(knownMs, sentMs);
      return true;
    },
    readFailed(nowMs) {
      brokenMs = nowMs;
    },
    watchLost(watch, nowMs) {
      lost.add(watch);
      brokenMs = nowMs;
    },
    watchOpened: (watch) => void lost.delete(watch),
    unavailableMs(fromMs, untilMs) {
      if (knownMs === undefined) return Math.max(0, untilMs - fromMs);
      const isUnavailable = brokenMs !== undefined;
      const present = {
        fromMs: knownMs,
        untilMs: Number.POSITIVE_INFINITY,
        reportedMs: Number.POSITIVE_INFINITY,
      };
      return overlapMs(isUnavailable ? [...outages, present] : outages, fromMs, untilMs);
    },
    knownUntilMs: () => knownMs,
  };
}

/**
 * Overlap of a period with outages. For a period that began before the end of an outage, the time until kubelets have
 * reported is included, because it may have ended during the outage.
 */
function overlapMs(outages: readonly Outage[], fromMs: number, untilMs: number): number {
  let sum = 0;
  let coveredMs = fromMs;
  for (const outage of outages) {
    const endMs = Math.min(untilMs, fromMs < outage.untilMs ? outage.reportedMs : outage.untilMs);
    const startMs = Math.max(coveredMs, outage.fromMs);
    if (endMs <= startMs) continue;
    sum += endMs - startMs;
    coveredMs = endMs;
  }
  return sum;
}

/** Merges the two oldest when there are too many. */
function mergeOldest(outages: readonly Outage[]): readonly Outage[] {
  const [first, second, ...rest] = outages;
  if (outages.length <= maxOutages || !first || !second) return outages;
  return [{ ...second, fromMs: first.fromMs }, ...rest];
}

export interface PodReader {
  /** Makes a small read to check that the API server is available. */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * Reads these pods and returns, by uid, the time at which a pod was still in the state that the monitor knows. For the
   * others a watch event is pending. Reads a few hundred pods; the rest can be confirmed later.
   */
  confirm(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
}

interface PodReaderDeps {
  readonly client: Pick<Client, "list">;
  readonly clock: Clock;
  readonly availability: Pick<Availability, "readSucceeded" | "readFailed">;
  /** Returns the pod as last received from the watch. */
  find(uid: string): Pod | undefined;
}

const maxReads = 300;
const concurrency = 8;
/** Less than `maxGapMs`, so that a slow response counts as a failed read. */
const readTimeoutMs = maxGapMs - 5_000;

/** Makes consistent reads of single pods. They are lists, because the monitor has no permission to get pods. */
export function createPodReader({ client, clock, availability, find }: PodReaderDeps): PodReader {
  /** Undefined if the read failed or its time is not reliable. */
  async function read(options: Parameters<Client["list"]>[1], signal: AbortSignal) {
    const sentMs = clock.now();
    try {
      const list = await withDeadline({ clock, timeoutMs: readTimeoutMs, signal }, (limited) =>
        client.list("pods", { ...options, signal: limited }),
      );
      const isReliable = availability.readSucceeded({ sentMs, receivedMs: clock.now() });
      return isReliable ? { sentMs, items: list.items } : undefined;
    } catch {
      if (!signal.aborted) availability.readFailed(clock.now());
      return undefined;
    }
  }

  return {
    async probe(signal) {
      await read({ limit: 1 }, signal);
    },
    async confirm(pods, signal) {
      const confirmed = new Map<string, number>();
      const limit = createLimiter(concurrency);
      let isUnavailable = false;
      const reads = pods.slice(0, maxReads).map(({ metadata: { uid = "", namespace, name } }) =>
        limit(async () => {
          if (isUnavailable || signal.aborted) return;
          const response = await read({ namespace, fieldSelector: `metadata.name=${name}` }, signal);
          isUnavailable ||= !response;
          const [current] = response?.items ?? [];
          if (!response || current?.metadata.uid !== uid) return;
          if (current.metadata.resourceVersion !== find(uid)?.metadata.resourceVersion) return;
          confirmed.set(uid, response.sentMs);
        }),
      );
      await Promise.all(reads);
      return confirmed;
    },
  };
}
