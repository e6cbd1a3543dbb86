import type { Client } from "../../client/api/client.ts";
import { createClient } from "../../client/api/create-client.ts";
import { type IssuedToken, requestToken, type ServiceAccountKey } from "../../client/api/request-token.ts";
import type { ClusterAccess } from "../../client/kubeconfig/cluster-access.ts";
import { isAlreadyExists, isNotFound } from "../../client/transport/status-errors.ts";
import { type Transport, TransportError } from "../../client/transport/transport.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { messageOf } from "../../lib/message-of.ts";

interface AccountClientsOptions {
  /** Client that creates missing service accounts and requests tokens for them. */
  readonly client: Client;
  /** Address and CA of the API server. Its client credentials are not used. */
  readonly access: Pick<ClusterAccess, "server" | "tls">;
  /** Opens a transport with the given credentials. */
  readonly open: (access: ClusterAccess) => Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface AccountClients {
  /** Returns a client that authenticates as this service account of kube-system. */
  clientAs(account: string): Client;
  close(): void;
}

/** Creates one client per controller, each with the permissions of its own service account. Tokens are renewed before they expire. */
export function createAccountClients(options: AccountClientsOptions): AccountClients {
  const { client, open, userAgent, clock, logger } = options;
  const { server } = options.access;
  const { cert: _cert, key: _key, ...tls } = options.access.tls;
  const closing = new AbortController();
  const clients = new Map<string, Client>();

  function connect(name: string): Client {
    const account = { namespace: "kube-system", name };
    const token = createAccountToken({ client, clock, logger, signal: closing.signal }, account);
    const transport = open({ server, tls, token: token.get });
    return createClient({
      userAgent: `${userAgent}/${name}`,
      clock,
      transport: {
        async send(request) {
          const sentAt = clock.now();
          const response = await transport.send(request);
          // The account may have been deleted and recreated, which invalidates its tokens.
          if (response.status === 401) token.invalidate(sentAt);
          return response;
        },
        close: transport.close,
      },
    });
  }

  return {
    clientAs(name) {
      const known = clients.get(name) ?? connect(name);
      clients.set(name, known);
      return known;
    },
    close() {
      closing.abort(new Error("the controllers are stopping"));
      for (const opened of clients.values()) opened.close();
    },
  };
}

/** Current token of a service account. */
interface AccountToken {
  get(): Promise<string>;
  /** Discards the token if it was requested before `rejectedAt`, when the server rejected it. */
  invalidate(rejectedAt: number): void;
}

interface HeldToken {
  readonly token: string;
  readonly requestedAt: number;
  readonly expiresAtMs: number;
  readonly renewAt: number;
}

/** Requested lifetime, as upstream. */
const lifetimeSeconds = 3_600;
/** Shortest lifetime that API servers grant; a shorter remainder means that the clocks differ. */
const minLifetimeMs = 600_000;
const renewAfterShare = 0.8;
const retryAfterMs = 10_000;
const timeoutMs = 30_000;

/** Time at which a token that is issued now has to be renewed. */
export function renewAtMs(now: number, expiresAt: number): number {
  return now + Math.max(expiresAt - now, minLifetimeMs) * renewAfterShare;
}

/**
 * Requests a token on first use and renews it well before it expires, with one request for all concurrent callers.
 * Creates the service account if it is missing.
 */
export function createAccountToken(
  deps: {
    readonly client: Client;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  },
  account: ServiceAccountKey,
): AccountToken {
  const { client, clock, logger } = deps;
  let held: HeldToken | undefined;
  let renewal: Promise<HeldToken> | undefined;

  async function renew(): Promise<HeldToken> {
    deps.signal.throwIfAborted();
    const before = held;
    const requestedAt = clock.now();
    try {
      const { token, expiresAtMs } = await withDeadline({ clock, timeoutMs, signal: deps.signal }, (signal) =>
        tokenOf(client, account, signal),
      );
      held = { token, requestedAt, expiresAtMs, renewAt: renewAtMs(clock.now(), expiresAtMs) };
    } catch (error) {
      deps.signal.throwIfAborted();
      const why = `no token for the service account ${account.namespace}/${account.name}: ${messageOf(error)}`;
      // Not the API's status error: the caller would attribute it to the object that it requested.
      if (!before || before.expiresAtMs <= clock.now()) throw new TransportError(why, { cause: error });
      logger.warn(`${why}; using the previous token until it expires`);
      held = { ...before, renewAt: clock.now() + retryAfterMs };
    }
    return held;
  }

  return {
    async get() {
      if (held && clock.now() < held.renewAt) return held.token;
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return (await renewal).token;
    },
    invalidate(rejectedAt) {
      if (held && held.requestedAt <= rejectedAt) held = undefined;
    },
  };
}

async function tokenOf(
  client: Client,
  account: ServiceAccountKey,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const request = () =>
    requestToken(client, account, { spec: { expirationSeconds: lifetimeSeconds }, signal });
  return request().catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error;
    await createAccount(client, account, signal);
    return request();
  });
}

async function createAccount(
  client: Client,
  metadata: ServiceAccountKey,
  signal: AbortSignal,
): Promise<void> {
  const object = { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata } };
  await client.create("serviceaccounts", object, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
