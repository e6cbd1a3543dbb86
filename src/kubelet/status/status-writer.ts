// Clauses: 3085-8, 3085-9
import type { Features } from "../../api/meta/feature-gates.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import { isNewerVersion } from "../../api/meta/object-facts.ts";
import type { Pod, PodStatus } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { untilAborted } from "../../lib/abort.ts";
import { type BackoffPolicy, type BackoffState, backOff, backoffRemainingMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { Logger } from "../../lib/logger.ts";
import { isOwnedCondition } from "./pod-conditions.ts";
import { budgetWaitMs, fullBudget, spendOne, statusPatch, type WriteBudget } from "./status-write.ts";

/** The only writer of `pods/status`. For a static pod it gets the mirror pod. */
export interface StatusWriter {
  /** Sets the status to be written. The latest one wins; nothing is sent if the API has it already. Never waits. */
  set(pod: Pod, status: PodStatus): void;
  /** Status that was set last, or that the API had when this kubelet first saw the pod. */
  latest(pod: Pod): PodStatus | undefined;
  /** Resolves when the API has the status that was set last, or when the pod is gone. */
  flushed(podUid: string, signal: AbortSignal): Promise<void>;
  forget(podUid: string): void;
  run(signal: AbortSignal): Promise<void>;
}

export interface StatusWriterOptions {
  readonly client: Pick<Client, "get" | "patch">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly features: Features;
}

/** Maximum number of concurrent writes. */
const concurrency = 32;
/** The maximum delay is short, so that statuses are up to date soon after the API server is back. */
const retryPolicy: BackoffPolicy = { initialMs: 100, maxMs: 5_000, factor: 2, resetAfterMs: 60_000 };

interface Entry {
  readonly uid: string;
  readonly key: { readonly namespace: string; readonly name: string };
  want: PodStatus;
  /** `version` is incremented by each change to write; `written` is the version that the API has. */
  version: number;
  written: number;
  /** Last known status in the API, and its resource version. */
  has: PodStatus;
  resourceVersion: string | undefined;
  /** Patch that was sent and had no effect: servers drop fields that they do not know. */
  ignored: unknown;
  /**
   * `idle` -> `writing` -> `idle` while there is something to write. `unsure` after a failure: the API is read before
   * the next attempt. `gone`: the pod does not exist any more and nothing is written.
   */
  state: "idle" | "writing" | "unsure" | "gone";
  budget: WriteBudget;
  backoff: BackoffState | undefined;
  readonly onProgress: Set<() => void>;
}

export function createStatusWriter(options: StatusWriterOptions): StatusWriter {
  const { client, clock, logger, features } = options;
  const entries = new Map<string, Entry>();
  const limit = createLimiter(concurrency);
  const tasks = new Set<Promise<void>>();
  const owned = (type: string) => isOwnedCondition(type, features);
  let running: AbortSignal | undefined;

  function isDirty(entry: Entry): boolean {
    return entry.state !== "gone" && entry.written < entry.version && entries.get(entry.uid) === entry;
  }

  function start(entry: Entry): void {
    if (!running || entry.state !== "idle" || !isDirty(entry)) return;
    entry.state = "writing";
    const task = writeAll(entry, running).finally(() => tasks.delete(task));
    tasks.add(task);
  }

  async function writeAll(entry: Entry, signal: AbortSignal): Promise<void> {
    // Several changes in one tick become one write.
    await Promise.resolve();
    while (isDirty(entry) && !signal.aborted) {
      const now = clock.now();
      const waitMs = Math.max(backoffRemainingMs(entry.backoff, now), budgetWaitMs(entry.budget, now));
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => {});
      else await limit(() => attempt(entry, signal));
    }
    // Runs in the same tick as the check of the loop condition, so that no change is missed.
    if (entry.state !== "gone") entry.state = "idle";
  }

  async function attempt(entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      if (entry.state === "unsure") await readStatus(entry, signal);
      if (isDirty(entry)) await write(entry, signal);
      entry.backoff = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (isNotFound(error)) return stop(entry);
      recordFailure(entry, error);
    } finally {
      for (const call of entry.onProgress) call();
    }
  }

  function recordFailure(entry: Entry, error: unknown): void {
    const log = entry.backoff ? logger.debug : logger.warn;
    log("failed to write the pod status, retrying", {
      pod: `${entry.key.namespace}/${entry.key.name}`,
      error,
    });
    entry.state = "unsure";
    entry.backoff = backOff(retryPolicy, entry.backoff, clock.now());
  }

  async function readStatus(entry: Entry, signal: AbortSignal): Promise<void> {
    const pod = await client.get("pods", entry.key, { signal });
    // Another pod has the same name.
    if (pod.metadata.uid !== entry.uid) return stop(entry);
    entry.has = pod.status ?? {};
    entry.resourceVersion = pod.metadata.resourceVersion;
    entry.state = "writing";
  }

  async function write(entry: Entry, signal: AbortSignal): Promise<void> {
    const { want, version } = entry;
    const patch = statusPatch(want, entry.has, owned);
    if (patch && !isEqual(patch, entry.ignored)) {
      entry.budget = spendOne(entry.budget, clock.now());
      recordResponse(entry, await sendPatch(entry, patch, signal));
      // Another writer may have changed the status just before: its change is overwritten. Fields that the server drops
      // are not sent again.
      const left = statusPatch(want, entry.has, owned);
      entry.ignored = isEqual(left, patch) || isEqual(left, entry.ignored) ? left : undefined;
      if (left && !entry.ignored) return;
    }
    entry.written = version;
  }

  function recordResponse(entry: Entry, { metadata, status = {} }: Pod): void {
    // A later version may have been observed before the response.
    if (isNewerVersion(entry.resourceVersion, metadata.resourceVersion)) return;
    entry.resourceVersion = metadata.resourceVersion;
    entry.has = status;
  }

  function sendPatch({ key, uid }: Entry, status: unknown, signal: AbortSignal): Promise<Pod> {
    // The UID is a precondition: the patch must not apply to a new pod of the same name.
    const patch = { kind: "strategic", body: { metadata: { uid }, status } } as const;
    return client.patch("pods", key, { subresource: "status", patch, signal });
  }

  function stop(entry: Entry): void {
    entry.state = "gone";
    for (const call of entry.onProgress) call();
  }

  return {
    set(pod, status) {
      const { uid = "", namespace = "", name = "", resourceVersion } = pod.metadata;
      const entry = entries.get(uid) ?? {
        uid,
        key: { namespace, name },
        want: status,
        version: 0,
        written: 0,
        has: pod.status ?? {},
        resourceVersion,
        ignored: undefined,
        state: "idle",
        budget: fullBudget(clock.now()),
        backoff: undefined,
        onProgress: new Set(),
      };
      entries.set(uid, entry);
      if (isNewerVersion(resourceVersion, entry.resourceVersion)) {
        entry.has = pod.status ?? {};
        entry.resourceVersion = resourceVersion;
      }
      entry.want = status;
      // A write in progress may contain the opposite change, so a dirty entry is always written again.
      if (isDirty(entry) || statusPatch(status, entry.has, owned)) entry.version++;
      start(entry);
    },

    latest: (pod) => entries.get(pod.metadata.uid ?? "")?.want ?? pod.status,

    async flushed(podUid, signal) {
      const entry = entries.get(podUid);
      const target = entry?.version ?? 0;
      while (entry && isDirty(entry) && entry.written < target) await progress(entry, signal);
    },

    forget(podUid) {
      const entry = entries.get(podUid);
      entries.delete(podUid);
      if (entry) stop(entry);
    },

    async run(signal) {
      running = signal;
      for (const entry of entries.values()) start(entry);
      await untilAborted(signal);
      running = undefined;
      await Promise.all(tasks);
    },
  };
}

/** Resolves after the next attempt to write. */
async function progress(entry: Entry, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => settle(() => reject(signal.reason));
    const onProgress = () => settle(resolve);
    const settle = (act: () => void) => {
      signal.removeEventListener("abort", onAbort);
      entry.onProgress.delete(onProgress);
      act();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    entry.onProgress.add(onProgress);
  });
}
