import type { ContainerPull, PullProgress } from "../../lib/image/pull-progress.ts";

/** Progress of all running pulls on this node. */
export interface PullTracker {
  /** Adds a pull. */
  start(podUid: string, first: ContainerPull): TrackedPull;
  progress(podUid: string): readonly ContainerPull[];
  follow(podUid: string, signal: AbortSignal): AsyncIterable<readonly ContainerPull[]>;
}

interface TrackedPull {
  update(change: PullProgress & Pick<ContainerPull, "oneOf">): void;
  /** Removes the pull when it has succeeded or failed. */
  remove(): void;
}

export function createPullTracker(): PullTracker {
  const pulls = new Map<string, Set<{ now: ContainerPull }>>();
  const subscribers = new Map<string, Set<() => void>>();

  const progress = (podUid: string) => [...(pulls.get(podUid) ?? [])].map(({ now }) => now);
  const notify = (podUid: string) => {
    for (const wake of subscribers.get(podUid) ?? []) wake();
  };

  async function* follow(podUid: string, signal: AbortSignal): AsyncGenerator<readonly ContainerPull[]> {
    // A slow subscriber skips intermediate states and does not block the pull.
    let changed = true;
    let wake = () => {};
    const onChange = () => {
      changed = true;
      wake();
    };
    addTo(subscribers, podUid, onChange);
    const end = () => wake();
    signal.addEventListener("abort", end);
    try {
      while (!signal.aborted) {
        if (!changed) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        changed = false;
        yield progress(podUid);
      }
    } finally {
      signal.removeEventListener("abort", end);
      removeFrom(subscribers, podUid, onChange);
    }
  }

  return {
    start(podUid, first) {
      const pull = { now: first };
      addTo(pulls, podUid, pull);
      notify(podUid);
      return {
        update(change) {
          const { oneOf: _, queued: __, ...before } = pull.now;
          pull.now = { ...before, ...change };
          notify(podUid);
        },
        remove() {
          removeFrom(pulls, podUid, pull);
          notify(podUid);
        },
      };
    },
    progress,
    follow,
  };
}

function addTo<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key) ?? new Set();
  sets.set(key, set.add(item));
}

function removeFrom<T>(sets: Map<string, Set<T>>, key: string, item: T): void {
  const set = sets.get(key);
  set?.delete(item);
  if (set?.size === 0) sets.delete(key);
}
