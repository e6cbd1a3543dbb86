import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../../../client/client.ts";
import { authenticate } from "../../../client/delegated-auth/authenticate.ts";
import { createAccessReviewer } from "../../../client/delegated-auth/review-access.ts";
import { createTokenReviewer } from "../../../client/delegated-auth/review-token.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { readSessionCookie } from "./session-cookie.ts";
import { createSessions } from "./sessions.ts";

/**
 * What a caller must be allowed to `get`, as a nonResourceURL in a ClusterRole. The page shows pods, events, nodes and
 * StatefulSets of all namespaces together: no right to one of these gives the others, so it has a name of its own.
 * `/metrics` is what upstream's components ask for, and what the roles of Prometheus grant.
 */
export type Guarded = "/kindling/dashboard" | "/metrics";

export type Admission =
  | { readonly kind: "allowed" }
  /** Nobody that the cluster knows. */
  | { readonly kind: "unknown" }
  | { readonly kind: "forbidden"; readonly user: string }
  /** The cluster cannot be asked. */
  | { readonly kind: "unavailable" };

/** Lets in whom the cluster knows and allows: by certificate, bearer token, or a session opened with a token. */
export interface Gate {
  admit(request: IncomingMessage, path: Guarded): Promise<Admission>;
  /** With a good token, the value of the cookie of a new session. */
  logIn(
    token: string,
  ): Promise<
    { readonly kind: "allowed"; readonly cookie: string } | Exclude<Admission, { readonly kind: "allowed" }>
  >;
  /** Whether the caller is known by a session, which can be closed. */
  hasSession(request: IncomingMessage): boolean;
  logOut(request: IncomingMessage): void;
}

interface GateDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** As the kubelet does: how long an answer of the API server holds. */
const tokenMs = 120_000;
const allowedMs = 300_000;
const deniedMs = 30_000;

export function createGate({ client, clock, logger }: GateDeps): Gate {
  const reviewToken = createTokenReviewer({ client, clock, cacheMs: tokenMs });
  const reviewAccess = createAccessReviewer({ client, clock, allowedMs, deniedMs });
  const sessions = createSessions(clock);

  async function review(
    socket: Pick<TLSSocket, "authorized" | "getPeerX509Certificate">,
    { authorization, path }: { authorization: string | undefined; path: Guarded },
  ): Promise<Admission> {
    try {
      const caller = await authenticate(
        { socket, authorization },
        { reviewToken, allowAnonymous: false, now: clock.now },
      );
      if (!caller) return { kind: "unknown" };
      const isAllowed = await reviewAccess(caller, { nonResourceAttributes: { verb: "get", path } });
      return isAllowed ? { kind: "allowed" } : { kind: "forbidden", user: caller.username };
    } catch (error) {
      logger.warn("the cluster could not be asked about a caller", { error });
      return { kind: "unavailable" };
    }
  }

  function tokenOf({ headers }: IncomingMessage): string | undefined {
    const cookie = readSessionCookie(headers.cookie);
    return cookie === undefined ? undefined : sessions.tokenOf(cookie);
  }

  return {
    admit(request, path) {
      const token = tokenOf(request);
      const authorization = request.headers.authorization ?? (token && `Bearer ${token}`);
      // There is a gate only where the server speaks TLS.
      return review(request.socket as TLSSocket, { authorization, path });
    },
    async logIn(token) {
      const noCertificate = { authorized: false, getPeerX509Certificate: () => undefined };
      const authorization = `Bearer ${token}`;
      const admission = await review(noCertificate, { authorization, path: "/kindling/dashboard" });
      return admission.kind === "allowed" ? { ...admission, cookie: sessions.open(token) } : admission;
    },
    hasSession: (request) => tokenOf(request) !== undefined,
    logOut(request) {
      const cookie = readSessionCookie(request.headers.cookie);
      if (cookie !== undefined) sessions.close(cookie);
    },
  };
}
