import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";

/**
 * Who logged in with a token, by the cookie that a browser shows instead of it. Kept in memory only: the token itself is
 * asked about again with each request, so that a session never outlives it.
 */
export interface Sessions {
  /** The value of the cookie. */
  open(token: string): string;
  tokenOf(cookie: string): string | undefined;
  close(cookie: string): void;
}

const lifetimeMs = 8 * 60 * 60 * 1_000;
/** Of so many the oldest goes first. */
const mostSessions = 1_000;

export function createSessions(clock: Pick<Clock, "now">): Sessions {
  // By a hash: comparing takes no time that tells something of the cookie.
  const sessions = new Map<string, { readonly token: string; readonly untilMs: number }>();
  return {
    open(token) {
      const cookie = randomBytes(32).toString("base64url");
      sessions.set(hash(cookie), { token, untilMs: clock.now() + lifetimeMs });
      const [oldest] = sessions.size > mostSessions ? sessions.keys() : [];
      if (oldest !== undefined) sessions.delete(oldest);
      return cookie;
    },
    tokenOf(cookie) {
      const key = hash(cookie);
      const session = sessions.get(key);
      if (session && session.untilMs > clock.now()) return session.token;
      sessions.delete(key);
      return undefined;
    },
    close: (cookie) => void sessions.delete(hash(cookie)),
  };
}

function hash(cookie: string): string {
  return createHash("sha256").update(cookie).digest("base64");
}
