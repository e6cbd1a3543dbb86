import type { Clock } from "../../lib/clock.ts";
import { createRecentMap } from "../recent-map.ts";

/** Answers that hold for a while. Whoever asks for the same at the same time shares one question. */
export interface AnswerCache<T> {
  get(key: string, ask: () => Promise<Answer<T>>): Promise<T>;
}

interface Answer<T> {
  readonly value: T;
  readonly forMs: number;
}

interface CacheOptions {
  readonly clock: Pick<Clock, "now">;
  /** How many are kept; the one that was not used for longest goes first. */
  readonly capacity: number;
  /** How many questions may be open: strangers can make us ask, and shall not make us flood whoever answers. */
  readonly mostOpen: number;
}

export function createAnswerCache<T>({ clock, capacity, mostOpen }: CacheOptions): AnswerCache<T> {
  const known = createRecentMap<{ value: T; until: number }>(capacity);
  const open = new Map<string, Promise<T>>();

  async function askAndKeep(key: string, ask: () => Promise<Answer<T>>): Promise<T> {
    const { value, forMs } = await ask();
    known.set(key, { value, until: clock.now() + forMs });
    return value;
  }

  return {
    async get(key, ask) {
      const entry = known.get(key);
      if (entry && entry.until > clock.now()) return entry.value;
      const asked = open.get(key);
      if (asked) return asked;
      if (open.size >= mostOpen) throw new Error("too many reviews are open");
      const mine = askAndKeep(key, ask).finally(() => open.delete(key));
      open.set(key, mine);
      return mine;
    },
  };
}
