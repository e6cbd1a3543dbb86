/**
 * Those who look. Each gets a snapshot, then every change. Whoever falls behind is owed nothing that was sent in the
 * meantime, only a new snapshot once it reads again: what waits for one is bounded, however slow it is.
 *
 *   new ──publish──► current ──too much waits──► behind ──reads again──► new
 */
export interface Audience {
  /** Messages until the signal aborts; undefined when no more can be let in. */
  follow(signal: AbortSignal): AsyncIterable<string> | undefined;
  publish(update: Update): void;
  size(): number;
}

interface Update {
  readonly change: string | undefined;
  /** Made once at most, and only when somebody needs it. It holds the change. */
  snapshot(): string;
}

export interface AudienceOptions {
  /** How many messages may wait for one. */
  readonly capacity: number;
  readonly mostFollowers: number;
  /** Somebody needs a snapshot. */
  onWanting(): void;
}

interface Follower {
  state: "new" | "current" | "behind";
  waiting: string[];
  wake(): void;
}

export function createAudience({ capacity, mostFollowers, onWanting }: AudienceOptions): Audience {
  const followers = new Set<Follower>();

  async function* read(follower: Follower, signal: AbortSignal): AsyncGenerator<string> {
    try {
      while (!signal.aborted) {
        const text = follower.waiting.shift();
        if (text !== undefined) {
          yield text;
          continue;
        }
        if (follower.state === "behind") {
          follower.state = "new";
          onWanting();
        }
        await new Promise<void>((resolve) => {
          follower.wake = resolve;
        });
      }
    } finally {
      followers.delete(follower);
    }
  }

  return {
    follow(signal) {
      if (followers.size >= mostFollowers) return undefined;
      const follower: Follower = { state: "new", waiting: [], wake() {} };
      const leave = () => {
        followers.delete(follower);
        follower.wake();
      };
      if (!signal.aborted) {
        followers.add(follower);
        signal.addEventListener("abort", leave, { once: true });
        onWanting();
      }
      return read(follower, signal);
    },
    publish({ change, snapshot }) {
      let whole: string | undefined;
      for (const follower of followers) {
        if (follower.state === "behind") continue;
        if (follower.state === "new") {
          whole ??= snapshot();
          follower.waiting = [whole];
          follower.state = "current";
        } else if (change === undefined) {
          continue;
        } else if (follower.waiting.length >= capacity) {
          follower.waiting = [];
          follower.state = "behind";
        } else {
          follower.waiting.push(change);
        }
        follower.wake();
      }
    },
    size: () => followers.size,
  };
}
