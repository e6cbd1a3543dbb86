import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { Client } from "../../../client/client.ts";
import {
  type Admission,
  createCallerAdmission,
  type Refusal,
} from "../../../client/delegated-auth/admit-caller.ts";
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

/** Lets in whom the cluster knows and allows: by certificate, bearer token, or a session opened with a token. */
export interface Gate {
  admit(request: IncomingMessage, path: Guarded): Promise<Admission>;
  /** With a good token, the value of the cookie of a new session. */
  logIn(token: string): Promise<{ readonly kind: "allowed"; readonly cookie: string } | Refusal>;
  /** Whether the caller is known by a session, which can be closed. */
  hasSession(request: IncomingMessage): boolean;
  logOut(request: IncomingMessage): void;
}

interface GateDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createGate({ client, clock, logger }: GateDeps): Gate {
  const admitCaller = createCallerAdmission({ client, clock, logger });
  const sessions = createSessions(clock);

  function tokenOf({ headers }: IncomingMessage): string | undefined {
    const cookie = readSessionCookie(headers.cookie);
    return cookie === undefined ? undefined : sessions.tokenOf(cookie);
  }

  return {
    admit(request, path) {
      const token = tokenOf(request);
      const authorization = request.headers.authorization ?? (token && `Bearer ${token}`);
      // There is a gate only where the server speaks TLS.
      return admitCaller({ socket: request.socket as TLSSocket, authorization }, path);
    },
    async logIn(token) {
      const socket = { authorized: false, getPeerX509Certificate: () => undefined };
      const admission = await admitCaller(
        { socket, authorization: `Bearer ${token}` },
        "/kindling/dashboard",
      );
      return admission.kind === "allowed" ? { ...admission, cookie: sessions.open(token) } : admission;
    },
    hasSession: (request) => tokenOf(request) !== undefined,
    logOut(request) {
      const cookie = readSessionCookie(request.headers.cookie);
      if (cookie !== undefined) sessions.close(cookie);
    },
  };
}
