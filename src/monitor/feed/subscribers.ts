/**
 * Subscribers of the feed. Each receives a snapshot, then every change. A subscriber that falls behind loses the messages
 * queued for it and receives a new snapshot once it reads again, so the memory per subscriber is bounded.
 *
 *   new ──publish──► current ──too much waits──► behind ──reads again──► new
 *                       └──── the buffer is full and it reads the oldest message ────► disconnected
 */
export interface Subscribers {
  /** Messages until the signal aborts or the subscriber is disconnected. Undefined if the limit is reached. */
  subscribe(signal: AbortSignal, onDisconnected?: () => void): AsyncIterable<string> | undefined;
  publish(update: Update): void;
  size(): number;
  /** Total length of messages that are not completely read, each counted once. */
  bufferedLength(): number;
}

interface Update {
  readonly change: string | undefined;
  /** Creates the snapshot, which includes the change. Called at most once, and only if needed. */
  snapshot(): string;
}

export interface SubscribersOptions {
  /** Maximum number of messages queued for one subscriber. */
  readonly capacity: number;
  readonly maxSubscribers: number;
  /** Maximum total length of buffered messages, apart from the newest. */
  readonly maxBufferedLength: number;
  /** Called when a subscriber needs a snapshot. */
  onSnapshotNeeded(): void;
}

/** Message shared by its recipients. */
interface Message {
  readonly text: string;
  references: number;
}

interface Subscriber {
  state: "new" | "current" | "behind";
  waiting: Message[];
  /** Delivered, but not completely read. */
  reading: Message | undefined;
  wake(): void;
  disconnect(): void;
}

export function createSubscribers(options: SubscribersOptions): Subscribers {
  const { capacity, maxSubscribers, maxBufferedLength, onSnapshotNeeded } = options;
  const all = new Set<Subscriber>();
  /** Oldest first. */
  const buffered = new Set<Message>();
  let bufferedLength = 0;

  function hold(message: Message): Message {
    if (message.references++ > 0) return message;
    buffered.add(message);
    bufferedLength += message.text.length;
    return message;
  }

  function release(messages: readonly Message[]): void {
    for (const message of messages) {
      if (--message.references > 0) continue;
      buffered.delete(message);
      bufferedLength -= message.text.length;
    }
  }

  function remove(subscriber: Subscriber): void {
    if (!all.delete(subscriber)) return;
    release([...subscriber.waiting, ...(subscriber.reading ? [subscriber.reading] : [])]);
    subscriber.waiting = [];
    subscriber.reading = undefined;
    subscriber.wake();
  }

  function fallBehind(subscriber: Subscriber): void {
    release(subscriber.waiting);
    subscriber.waiting = [];
    subscriber.state = "behind";
  }

  async function* read(subscriber: Subscriber): AsyncGenerator<string> {
    try {
      while (all.has(subscriber)) {
        const message = subscriber.waiting.shift();
        if (message) {
          subscriber.reading = message;
          yield message.text;
          // A subscriber removed in the meantime has already released it.
          if (subscriber.reading) release([subscriber.reading]);
          subscriber.reading = undefined;
          continue;
        }
        if (subscriber.state === "behind") {
          subscriber.state = "new";
          onSnapshotNeeded();
        }
        await new Promise<void>((resolve) => {
          subscriber.wake = resolve;
        });
      }
    } finally {
      remove(subscriber);
    }
  }

  /** Disconnects the slowest subscribers first, which are those that read the oldest messages. */
  function evictOldest(newest: ReadonlySet<Message>): void {
    for (const oldest of buffered) {
      if (bufferedLength <= maxBufferedLength || newest.has(oldest)) return;
      for (const subscriber of all) {
        if (subscriber.reading === oldest) {
          remove(subscriber);
          subscriber.disconnect();
        } else if (subscriber.waiting.includes(oldest)) fallBehind(subscriber);
      }
    }
  }

  return {
    subscribe(signal, onDisconnected = () => {}) {
      if (all.size >= maxSubscribers) return undefined;
      const subscriber: Subscriber = {
        state: "new",
        waiting: [],
        reading: undefined,
        wake() {},
        disconnect: onDisconnected,
      };
      if (!signal.aborted) {
        all.add(subscriber);
        signal.addEventListener("abort", () => remove(subscriber), { once: true });
        onSnapshotNeeded();
      }
      return read(subscriber);
    },
    publish({ change, snapshot }) {
      const next = change === undefined ? undefined : { text: change, references: 0 };
      let full: Message | undefined;
      for (const subscriber of all) {
        if (subscriber.state === "behind") continue;
        if (subscriber.state === "new") {
          full ??= { text: snapshot(), references: 0 };
          subscriber.waiting = [hold(full)];
          subscriber.state = "current";
        } else if (next === undefined) {
          continue;
        } else if (subscriber.waiting.length >= capacity) {
          fallBehind(subscriber);
        } else {
          subscriber.waiting.push(hold(next));
        }
        subscriber.wake();
      }
      evictOldest(new Set([next, full].flatMap((message) => message ?? [])));
    },
    size: () => all.size,
    bufferedLength: () => bufferedLength,
  };
}
