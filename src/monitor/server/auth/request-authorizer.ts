import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../../../client/api/client.ts";
import {
  type AuthorizationFailure,
  type AuthorizationResult,
  createCallerAuthorizer,
} from "../../../client/delegated-auth/authorize-caller.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";

/**
 * Non-resource URL that a caller must be allowed to `get`. The dashboard shows pods, events, nodes and StatefulSets of
 * all namespaces, so it has its own permission. `/metrics` is the one that upstream components use and that the
 * roles of Prometheus grant.
 */
export type GuardedPath = "/kindling/dashboard" | "/metrics";

/** Authenticates and authorizes requests by client certificate, bearer token, or a session opened with a token. */
export interface RequestAuthorizer {
  authorize(request: IncomingMessage, path: GuardedPath): Promise<AuthorizationResult>;
  /** Opens a session for a valid token and returns the value of its cookie. */
  logIn(token: string): Promise<{ readonly kind: "allowed"; readonly cookie: string } | AuthorizationFailure>;
  /** Whether the request is authenticated by a session. */
  hasSession(request: IncomingMessage): boolean;
  logOut(request: IncomingMessage): void;
}

interface RequestAuthorizerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createRequestAuthorizer({ client, clock, logger }: RequestAuthorizerDeps): RequestAuthorizer {
  const authorizeCaller = createCallerAuthorizer({ client, clock, logger });
  const sessions = createSessions(clock);

  function tokenOf({ headers }: IncomingMessage): string | undefined {
    const cookie = readSessionCookie(headers.cookie);
    return cookie === undefined ? undefined : sessions.tokenOf(cookie);
  }

  return {
    authorize(request, path) {
      const token = tokenOf(request);
      const authorization = request.headers.authorization ?? (token && `Bearer ${token}`);
      // The authorizer is used only with TLS.
      return authorizeCaller({ socket: request.socket as TLSSocket, authorization }, path);
    },
    async logIn(token) {
      const socket = { authorized: false, getPeerX509Certificate: () => undefined };
      const decision = await authorizeCaller(
        { socket, authorization: `Bearer ${token}` },
        "/kindling/dashboard",
      );
      return decision.kind === "allowed" ? { ...decision, cookie: sessions.open(token) } : decision;
    },
    hasSession: (request) => tokenOf(request) !== undefined,
    logOut(request) {
      const cookie = readSessionCookie(request.headers.cookie);
      if (cookie !== undefined) sessions.close(cookie);
    },
  };
}

/**
 * Sessions of users who logged in with a token, by cookie. They are kept in memory. The token is reviewed with each
 * request, so a session never outlives it.
 */
export interface Sessions {
  /** Opens a session and returns the value of its cookie. */
  open(token: string): string;
  tokenOf(cookie: string): string | undefined;
  close(cookie: string): void;
}

const lifetimeMs = 8 * 60 * 60 * 1_000;
/** Maximum number of sessions; the oldest is removed first. */
const maxSessions = 1_000;

export function createSessions(clock: Pick<Clock, "now">): Sessions {
  // Keyed by hash, so that lookup time reveals nothing about valid cookies.
  const sessions = new Map<string, { readonly token: string; readonly untilMs: number }>();
  return {
    open(token) {
      const cookie = randomBytes(32).toString("base64url");
      sessions.set(hash(cookie), { token, untilMs: clock.now() + lifetimeMs });
      const [oldest] = sessions.size > maxSessions ? sessions.keys() : [];
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

/** Cookie name. Browsers accept the prefix __Host- only over HTTPS, for exactly this host and all its paths. */
const name = "__Host-kindling";
const attributes = "Path=/; HttpOnly; Secure; SameSite=Strict";

export function readSessionCookie(header: string | undefined): string | undefined {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

export function setSessionCookie(value: string): string {
  return `${name}=${value}; ${attributes}`;
}

export function clearSessionCookie(): string {
  return `${name}=; ${attributes}; Max-Age=0`;
}
