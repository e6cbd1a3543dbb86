/**
 * Those who look. Each gets a snapshot, then every change. Whoever falls behind is owed nothing that was sent in the
 * meantime, only a new snapshot once it reads again: what waits for one is bounded, however slow it is.
 *
 *   new ──publish──► current ──too much waits──► behind ──reads again──► new
 *                       └──── all together hold too much, and it the oldest ────► dismissed
 */
export interface Audience {
  /** Messages until the signal aborts or it is dismissed; undefined when no more can be let in. */
  follow(signal: AbortSignal, onDismissed?: () => void): AsyncIterable<string> | undefined;
  publish(update: Update): void;
  size(): number;
  /** The length of all messages that somebody has not read to the end, each counted once. */
  heldLength(): number;
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
  /** How long all messages that are held may be together, beside the newest. */
  readonly mostHeldLength: number;
  /** Somebody needs a snapshot. */
  onWanting(): void;
}

/** One for all who get it. */
interface Message {
  readonly text: string;
  holders: number;
}

interface Follower {
  state: "new" | "current" | "behind";
  waiting: Message[];
  /** Given out, and not read to the end. */
  reading: Message | undefined;
  wake(): void;
  dismiss(): void;
}

export function createAudience(options: AudienceOptions): Audience {
  const { capacity, mostFollowers, mostHeldLength, onWanting } = options;
  const followers = new Set<Follower>();
  /** The oldest first. */
  const held = new Set<Message>();
  let heldLength = 0;

  function hold(message: Message): Message {
    if (message.holders++ > 0) return message;
    held.add(message);
    heldLength += message.text.length;
    return message;
  }

  function release(messages: readonly Message[]): void {
    for (const message of messages) {
      if (--message.holders > 0) continue;
      held.delete(message);
      heldLength -= message.text.length;
    }
  }

  function leave(follower: Follower): void {
    if (!followers.delete(follower)) return;
    release([...follower.waiting, ...(follower.reading ? [follower.reading] : [])]);
    follower.waiting = [];
    follower.reading = undefined;
    follower.wake();
  }

  function fallBehind(follower: Follower): void {
    release(follower.waiting);
    follower.waiting = [];
    follower.state = "behind";
  }

  async function* read(follower: Follower): AsyncGenerator<string> {
    try {
      while (followers.has(follower)) {
        const message = follower.waiting.shift();
        if (message) {
          follower.reading = message;
          yield message.text;
          // Whoever left in the meantime has given it back.
          if (follower.reading) release([follower.reading]);
          follower.reading = undefined;
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
      leave(follower);
    }
  }

  /** Those who dawdle over what is long past go first: who reads at all has newer messages. */
  function makeRoom(newest: ReadonlySet<Message>): void {
    for (const oldest of held) {
      if (heldLength <= mostHeldLength || newest.has(oldest)) return;
      for (const follower of followers) {
        if (follower.reading === oldest) {
          leave(follower);
          follower.dismiss();
        } else if (follower.waiting.includes(oldest)) fallBehind(follower);
      }
    }
  }

  return {
    follow(signal, onDismissed = () => {}) {
      if (followers.size >= mostFollowers) return undefined;
      const follower: Follower = {
        state: "new",
        waiting: [],
        reading: undefined,
        wake() {},
        dismiss: onDismissed,
      };
      if (!signal.aborted) {
        followers.add(follower);
        signal.addEventListener("abort", () => leave(follower), { once: true });
        onWanting();
      }
      return read(follower);
    },
    publish({ change, snapshot }) {
      const next = change === undefined ? undefined : { text: change, holders: 0 };
      let whole: Message | undefined;
      for (const follower of followers) {
        if (follower.state === "behind") continue;
        if (follower.state === "new") {
          whole ??= { text: snapshot(), holders: 0 };
          follower.waiting = [hold(whole)];
          follower.state = "current";
        } else if (next === undefined) {
          continue;
        } else if (follower.waiting.length >= capacity) {
          fallBehind(follower);
        } else {
          follower.waiting.push(hold(next));
        }
        follower.wake();
      }
      makeRoom(new Set([next, whole].flatMap((message) => message ?? [])));
    },
    size: () => followers.size,
    heldLength: () => heldLength,
  };
}
