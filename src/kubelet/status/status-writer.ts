import type { Features } from "../../api/feature-gates.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod, PodStatus } from "../../api/objects.ts";
import { isNewerVersion } from "../../api/resource-version.ts";
import type { Client } from "../../client/client.ts";
import { isNotFound } from "../../client/status-errors.ts";
import { type BackoffPolicy, type BackoffState, backOff, backoffRemainingMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import { createLimiter } from "../../lib/limiter.ts";
import type { Logger } from "../../lib/logger.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { isOwnedCondition } from "./owned-conditions.ts";
import { statusPatch } from "./status-patch.ts";
import { budgetWaitMs, fullBudget, spendOne, type WriteBudget } from "./write-budget.ts";

/** The one owner of PATCHes to `pods/status`. Of a static pod it is given the mirror pod. */
export interface StatusWriter {
  /** The latest wins; nothing is sent when the API already has it. Never waits. */
  set(pod: Pod, status: PodStatus): void;
  /** What was last set, or what the API had when this kubelet first saw the pod: transition times continue from here. */
  latest(pod: Pod): PodStatus | undefined;
  /** Resolves once the API has what was last set for the pod, or the pod is gone there. */
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

/** Writes of different pods that go on at the same time. */
const concurrency = 32;
/** Short at its longest: the API server is back, and everybody waits to see what has happened meanwhile. */
const retryPolicy: BackoffPolicy = { initialMs: 100, maxMs: 5_000, factor: 2, resetAfterMs: 60_000 };

interface Entry {
  readonly uid: string;
  readonly key: { readonly namespace: string; readonly name: string };
  want: PodStatus;
  /** Raised with each thing to write; behind it, the one that the API has. */
  version: number;
  written: number;
  /** What the API has as far as is known, and of which resource version that is. */
  has: PodStatus;
  resourceVersion: string | undefined;
  /** What was sent and is still not there: a server that does not know a field drops it. */
  ignored: unknown;
  /**
   * idle -> writing -> idle: as long as there is something to write. After a failure nobody knows what the API has:
   * it is asked before the next attempt. gone: it is not there any more, and nothing will be written.
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
    // What is set several times in one step is one write.
    await Promise.resolve();
    while (isDirty(entry) && !signal.aborted) {
      const now = clock.now();
      const waitMs = Math.max(backoffRemainingMs(entry.backoff, now), budgetWaitMs(entry.budget, now));
      if (waitMs > 0) await clock.sleep(waitMs, signal).catch(() => {});
      else await limit(() => attempt(entry, signal));
    }
    // In the same step as the look at the loop's condition: what is set from now on starts anew.
    if (entry.state !== "gone") entry.state = "idle";
  }

  async function attempt(entry: Entry, signal: AbortSignal): Promise<void> {
    try {
      if (entry.state === "unsure") await lookUp(entry, signal);
      if (isDirty(entry)) await write(entry, signal);
      entry.backoff = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (isNotFound(error)) return end(entry);
      noteFailure(entry, error);
    } finally {
      for (const call of entry.onProgress) call();
    }
  }

  function noteFailure(entry: Entry, error: unknown): void {
    const log = entry.backoff ? logger.debug : logger.warn;
    log("pod status not written, trying again", {
      pod: `${entry.key.namespace}/${entry.key.name}`,
      error,
    });
    entry.state = "unsure";
    entry.backoff = backOff(retryPolicy, entry.backoff, clock.now());
  }

  async function lookUp(entry: Entry, signal: AbortSignal): Promise<void> {
    const pod = await client.get("pods", entry.key, { signal });
    // Another pod has taken the name.
    if (pod.metadata.uid !== entry.uid) return end(entry);
    entry.has = pod.status ?? {};
    entry.resourceVersion = pod.metadata.resourceVersion;
    entry.state = "writing";
  }

  async function write(entry: Entry, signal: AbortSignal): Promise<void> {
    const { want, version } = entry;
    const patch = statusPatch(want, entry.has, owned);
    if (patch && !isEqual(patch, entry.ignored)) {
      entry.budget = spendOne(entry.budget, clock.now());
      noteAnswer(entry, await sendPatch(entry, patch, signal));
      // Somebody else may have written just before: what they undid is written again. What a server drops is not.
      const left = statusPatch(want, entry.has, owned);
      entry.ignored = isEqual(left, patch) || isEqual(left, entry.ignored) ? left : undefined;
      if (left && !entry.ignored) return;
    }
    entry.written = version;
  }

  function noteAnswer(entry: Entry, { metadata, status = {} }: Pod): void {
    // A later change may have been seen before the answer came.
    if (isNewerVersion(entry.resourceVersion, metadata.resourceVersion)) return;
    entry.resourceVersion = metadata.resourceVersion;
    entry.has = status;
  }

  function sendPatch({ key, uid }: Entry, status: unknown, signal: AbortSignal): Promise<Pod> {
    // The uid is a precondition: another pod of that name is not meant.
    const patch = { kind: "strategic", body: { metadata: { uid }, status } } as const;
    return client.patch("pods", key, { subresource: "status", patch, signal });
  }

  function end(entry: Entry): void {
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
      // What is on its way may be the opposite of this: only then does it help to look again after it.
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
      if (entry) end(entry);
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

/** Until something has become of an attempt to write. */
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
