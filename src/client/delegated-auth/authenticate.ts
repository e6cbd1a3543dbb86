import { createHash } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../lib/clock.ts";
import { createLruMap } from "../../lib/lru-map.ts";
import { subjectOf } from "../../lib/x509/issuer.ts";
import type { Client } from "../api/client.ts";

/** Returns the user of a token, or undefined for an invalid token. Rejects when the API server cannot be reached. */
type ReviewToken = (token: string) => Promise<Caller | undefined>;

export interface Credentials {
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerX509Certificate">;
  /** Value of the `Authorization` header. */
  readonly authorization: string | undefined;
}

interface AuthenticateDeps {
  /** Undefined when token authentication is disabled. */
  readonly reviewToken: ReviewToken | undefined;
  readonly allowAnonymous: boolean;
  now(): number;
}

/**
 * Authenticates a request; undefined means 401. A valid client certificate takes precedence over a token. A request
 * without either is anonymous, if that is allowed.
 */
export async function authenticate(
  { socket, authorization = "" }: Credentials,
  { reviewToken, allowAnonymous, now }: AuthenticateDeps,
): Promise<Caller | undefined> {
  const certificate = socket.getPeerX509Certificate();
  // The certificate can expire while the connection is open.
  if (certificate && socket.authorized && Date.parse(certificate.validTo) >= now()) {
    const subject = subjectOf(certificate);
    if (subject) return authenticatedCaller({ username: subject.commonName, groups: subject.organizations });
  }
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token) return reviewToken?.(token);
  return allowAnonymous && !certificate ? anonymousCaller : undefined;
}

/** Authenticated user, as in the API's reviews. */
export interface Caller {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const anonymousCaller: Caller = {
  username: "system:anonymous",
  groups: ["system:unauthenticated"],
};

const authenticated = "system:authenticated";

function authenticatedCaller(caller: Caller): Caller {
  if (caller.groups.includes(authenticated)) return caller;
  return { ...caller, groups: [...caller.groups, authenticated] };
}

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

const reviewTimeoutMs = 10_000;

/** Creates an authenticator that sends TokenReviews. */
export function createTokenReviewer(deps: {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  readonly cacheMs: number;
  /** Audiences of which a token must have one. Default: those of the API server. */
  readonly audiences?: readonly string[];
}): ReviewToken {
  const cache = createReviewCache<Caller | undefined>({ clock: deps.clock, capacity: 1_000, maxPending: 50 });

  async function review(token: string): Promise<Caller | undefined> {
    const { status } = await deps.client.request<TokenReview>(
      "POST",
      "/apis/authentication.k8s.io/v1/tokenreviews",
      {
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token, ...(deps.audiences && { audiences: deps.audiences }) },
        },
        signal: AbortSignal.timeout(reviewTimeoutMs),
      },
    );
    const { username, uid, groups = [], extra } = status?.user ?? {};
    if (!status?.authenticated || !username) return undefined;
    return authenticatedCaller({ username, groups, ...(uid && { uid }), ...(extra && { extra }) });
  }

  return (token) => {
    // The cache holds hashes instead of tokens.
    const key = createHash("sha256").update(token).digest("base64");
    return cache.get(key, async () => ({ value: await review(token), forMs: deps.cacheMs }));
  };
}

/** Requested access, as in a SubjectAccessReview. */
type Access =
  | {
      readonly resourceAttributes: {
        readonly verb: string;
        readonly group?: string;
        readonly version?: string;
        readonly resource: string;
        readonly subresource?: string;
        readonly name?: string;
      };
    }
  | { readonly nonResourceAttributes: { readonly verb: string; readonly path: string } };

/** Reports whether a caller has access. Rejects when the API server cannot be reached. */
type ReviewAccess = (caller: Caller, access: Access) => Promise<boolean>;

interface AccessReviewerDeps {
  readonly client: Pick<Client, "request">;
  readonly clock: Clock;
  /** Cache duration of allowed requests. */
  readonly allowedMs: number;
  /** Cache duration of denied requests. */
  readonly deniedMs: number;
}

/** Creates an authorizer that sends SubjectAccessReviews. */
export function createAccessReviewer(deps: AccessReviewerDeps): ReviewAccess {
  const cache = createReviewCache<boolean>({ clock: deps.clock, capacity: 1_000, maxPending: 50 });

  async function review(spec: unknown): Promise<boolean> {
    const { status } = await deps.client.request<{ status?: { allowed?: boolean } }>(
      "POST",
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec },
        signal: AbortSignal.timeout(reviewTimeoutMs),
      },
    );
    return status?.allowed === true;
  }

  return ({ username, uid, groups, extra }, access) => {
    const spec = { ...access, user: username, groups, ...(uid && { uid }), ...(extra && { extra }) };
    return cache.get(JSON.stringify(spec), async () => {
      const value = await review(spec);
      return { value, forMs: value ? deps.allowedMs : deps.deniedMs };
    });
  };
}

/** Cache of review results. Concurrent requests for the same key share one review. */
interface ReviewCache<T> {
  get(key: string, review: () => Promise<Review<T>>): Promise<T>;
}

interface Review<T> {
  readonly value: T;
  readonly forMs: number;
}

interface CacheOptions {
  readonly clock: Pick<Clock, "now">;
  /** Maximum number of entries; the least recently used one is evicted. */
  readonly capacity: number;
  /** Maximum number of concurrent reviews, so that unauthenticated callers cannot flood the API server. */
  readonly maxPending: number;
}

export function createReviewCache<T>({ clock, capacity, maxPending }: CacheOptions): ReviewCache<T> {
  const cached = createLruMap<{ value: T; until: number }>(capacity);
  const pending = new Map<string, Promise<T>>();

  async function reviewAndCache(key: string, review: () => Promise<Review<T>>): Promise<T> {
    const { value, forMs } = await review();
    cached.set(key, { value, until: clock.now() + forMs });
    return value;
  }

  return {
    async get(key, review) {
      const entry = cached.get(key);
      if (entry && entry.until > clock.now()) return entry.value;
      const shared = pending.get(key);
      if (shared) return shared;
      if (pending.size >= maxPending)
        throw new Error(`the limit of ${maxPending} concurrent reviews is reached`);
      const started = reviewAndCache(key, review).finally(() => pending.delete(key));
      pending.set(key, started);
      return started;
    },
  };
}
