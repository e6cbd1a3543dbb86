import type { PullProgress } from "./image-puller.ts";

/** Where every pull of this node is, for those who ask. */
export interface ProgressBoard {
  /** A pull begins. */
  post(podUid: string, first: PullProgress): PostedPull;
  progress(podUid: string): readonly PullProgress[];
  follow(podUid: string, signal: AbortSignal): AsyncIterable<readonly PullProgress[]>;
}

interface PostedPull {
  update(change: Pick<PullProgress, "offset" | "total" | "layers">): void;
  /** The pull has ended, well or not. */
  remove(): void;
}

export function createProgressBoard(): ProgressBoard {
  const pulls = new Map<string, Set<{ now: PullProgress }>>();
  const followers = new Map<string, Set<() => void>>();

  const progress = (podUid: string) => [...(pulls.get(podUid) ?? [])].map(({ now }) => now);
  const tell = (podUid: string) => {
    for (const wake of followers.get(podUid) ?? []) wake();
  };

  async function* follow(podUid: string, signal: AbortSignal): AsyncGenerator<readonly PullProgress[]> {
    // A reader that is slow misses what has been overtaken, and never makes anybody wait.
    let changed = true;
    let wake = () => {};
    const notice = () => {
      changed = true;
      wake();
    };
    addTo(followers, podUid, notice);
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
      removeFrom(followers, podUid, notice);
    }
  }

  return {
    post(podUid, first) {
      const pull = { now: first };
      addTo(pulls, podUid, pull);
      tell(podUid);
      return {
        update(change) {
          pull.now = { ...pull.now, ...change };
          tell(podUid);
        },
        remove() {
          removeFrom(pulls, podUid, pull);
          tell(podUid);
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
