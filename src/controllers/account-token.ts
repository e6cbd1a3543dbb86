import type { Client } from "../client/client.ts";
import { type IssuedToken, requestToken, type ServiceAccountKey } from "../client/request-token.ts";
import { isAlreadyExists, isNotFound } from "../client/status-errors.ts";
import { TransportError } from "../client/transport.ts";
import { withDeadline } from "../client/with-deadline.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { messageOf } from "../lib/message-of.ts";

/** The token of an account at the moment. */
interface AccountToken {
  get(): Promise<string>;
  /** The server did not take what it was shown at that time: one from before it is not shown again. */
  refused(shownAt: number): void;
}

interface HeldToken {
  readonly token: string;
  readonly askedAt: number;
  readonly expiresAtMs: number;
  readonly renewAt: number;
}

/** As upstream asks for them. */
const lifetimeSeconds = 3_600;
/** The shortest that a server gives; an answer with less is of a clock that goes wrong. */
const leastLifetimeMs = 600_000;
const renewAfterShare = 0.8;
const retryAfterMs = 10_000;
const timeoutMs = 30_000;

/** When the next one is due, of one that is given now. */
export function renewAtMs(now: number, expiresAt: number): number {
  return now + Math.max(expiresAt - now, leastLifetimeMs) * renewAfterShare;
}

/**
 * Asks for a token with the first request and again well before it expires, once for all who wait. The account is made
 * where it is missing.
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
  let asking: Promise<HeldToken> | undefined;

  async function renew(): Promise<HeldToken> {
    deps.signal.throwIfAborted();
    const before = held;
    const askedAt = clock.now();
    try {
      const { token, expiresAtMs } = await withDeadline({ clock, timeoutMs, signal: deps.signal }, (signal) =>
        tokenOf(client, account, signal),
      );
      held = { token, askedAt, expiresAtMs, renewAt: renewAtMs(clock.now(), expiresAtMs) };
    } catch (error) {
      deps.signal.throwIfAborted();
      const why = `no token for the service account ${account.namespace}/${account.name}: ${messageOf(error)}`;
      // Not what the API said of the account: whoever asks for something else would take it for an answer.
      if (!before || before.expiresAtMs <= clock.now()) throw new TransportError(why, { cause: error });
      logger.warn(`${why}; the last one is still good`);
      held = { ...before, renewAt: clock.now() + retryAfterMs };
    }
    return held;
  }

  return {
    async get() {
      if (held && clock.now() < held.renewAt) return held.token;
      asking ??= renew().finally(() => {
        asking = undefined;
      });
      return (await asking).token;
    },
    refused(shownAt) {
      if (held && held.askedAt <= shownAt) held = undefined;
    },
  };
}

async function tokenOf(
  client: Client,
  account: ServiceAccountKey,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const ask = () => requestToken(client, account, { spec: { expirationSeconds: lifetimeSeconds }, signal });
  return ask().catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error;
    await makeAccount(client, account, signal);
    return ask();
  });
}

async function makeAccount(client: Client, metadata: ServiceAccountKey, signal: AbortSignal): Promise<void> {
  const object = { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata } };
  await client.create("serviceaccounts", object, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
