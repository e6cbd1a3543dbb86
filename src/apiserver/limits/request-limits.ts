import { tooManyRequests } from "../../api/meta/status-error.ts";

/** Limits the number of requests that are processed at once. Watches and proxied streams do not count. */
export interface InFlight {
  /** Takes a slot, or throws 429 when all are taken. Returns a function that frees the slot. */
  enter(kind: RequestKind): () => void;
  count(kind: RequestKind): number;
}

type RequestKind = "read" | "write";

/** A write can hold a body of megabytes, a read holds little. */
const limits = { read: 2_000, write: 1_000 };

export function createInFlight(): InFlight {
  const counts = { read: 0, write: 0 };
  return {
    count: (kind) => counts[kind],
    enter(kind) {
      if (counts[kind] >= limits[kind]) {
        throw tooManyRequests(
          "the server has received too many requests and has asked us to try again later",
          1,
        );
      }
      counts[kind]++;
      return () => {
        counts[kind]--;
      };
    },
  };
}

/** Limits the number of open watches, per user and in total. */
export interface WatchLimits {
  /** Counts a watch, or throws 429 when a limit is reached. Returns a function that ends the watch. */
  enter(watch: WatchOwner): () => void;
  /** The number of open watches, including those inside this process. */
  count(): number;
}

export interface MaxWatches {
  readonly total: number;
  readonly perUser: number;
}

interface WatchOwner {
  readonly username: string;
  /** Watches of components in this process have no connection: they count for their user, not for the total. */
  readonly inProcess: boolean;
}

/** The default per user is half of the total, so that no single user can take all watches. */
export const defaultMaxWatches: MaxWatches = { total: 20_000, perUser: 10_000 };

const retryAfterSeconds = 10;

/** `onClosed` is called for each watch of a connection that has ended. */
export function createWatchLimits(max: MaxWatches, onClosed: () => void = () => {}): WatchLimits {
  const byUser = new Map<string, number>();
  const counts = { connected: 0, inProcess: 0 };

  return {
    count: () => counts.connected + counts.inProcess,
    enter({ username, inProcess }) {
      const ofUser = byUser.get(username) ?? 0;
      if (ofUser >= max.perUser)
        throw tooManyRequests(
          `user ${JSON.stringify(username)} has ${ofUser} open watches, the most that --max-watches-per-user allows; close some or try again later`,
          retryAfterSeconds,
        );
      if (!inProcess && counts.connected >= max.total)
        throw tooManyRequests(
          `${counts.connected} watches are open, the most that --max-watches allows; try again later`,
          retryAfterSeconds,
        );
      const kind = inProcess ? "inProcess" : "connected";
      counts[kind]++;
      byUser.set(username, ofUser + 1);
      return () => {
        counts[kind]--;
        const left = (byUser.get(username) ?? 1) - 1;
        if (left > 0) byUser.set(username, left);
        else byUser.delete(username);
        if (!inProcess) onClosed();
      };
    },
  };
}
