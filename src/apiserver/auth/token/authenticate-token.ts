import type { UserInfo } from "../../request/user-info.ts";
import { quoteList } from "../attributes.ts";
import {
  type BoundObjects,
  bindingProblem,
  type Claims,
  claimsUser,
  parseClaims,
  timeProblem,
} from "./claims.ts";
import { type SigningKey, type Unverified, verifyJwt } from "./jwt.ts";
import { type StaticTokens, tokenDigest } from "./token-file.ts";

export type TokenVerdict =
  | { readonly kind: "user"; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Authenticates a bearer token for one of the audiences. `digest` is that of the token, if it is known already. Returns
 * a promise only when objects have to be looked up.
 */
export type AuthenticateToken = (
  token: string,
  audiences: readonly string[],
  digest?: string,
) => TokenVerdict | Promise<TokenVerdict>;

export interface TokenDeps {
  readonly issuer: string;
  /** Audiences of the API server. */
  readonly apiAudiences: readonly string[];
  /** Current signing key, then earlier ones. */
  readonly keys: readonly SigningKey[];
  readonly objects: BoundObjects;
  readonly staticTokens?: StaticTokens;
  now(): number;
}

interface Verified {
  readonly kind: "verified";
  readonly claims: Claims;
  /** Created once per token, because authorization decisions are cached by the identity of this object. */
  readonly user: UserInfo;
  readonly forgetAt: number;
}

const maxRemembered = 10_000;
const rememberMs = 60_000;

export function createTokenAuthenticator(deps: TokenDeps): AuthenticateToken {
  // Caches valid signatures only, because they cannot change. Expiry and bound objects are checked for every request.
  const remembered = new Map<string, Verified>();

  return (token, audiences, digest = tokenDigest(token)) => {
    const owner = deps.staticTokens?.get(digest);
    if (owner) return forAudiences(owner, deps.apiAudiences, audiences);

    const now = deps.now();
    const known = remembered.get(digest);
    const result = known && known.forgetAt > now ? known : verify(token);
    if (result.kind === "invalid") return result;
    if (result !== known) remember(digest, result);
    const { claims, user } = result;
    const verdict = forAudiences(user, claims.aud, audiences);
    if (verdict.kind === "invalid") return verdict;
    const expired = timeProblem(claims, now);
    if (expired) return { kind: "invalid", reason: expired };
    return bindingProblem(claims, deps.objects, now).then((problem) =>
      problem ? { kind: "invalid", reason: problem } : verdict,
    );
  };

  function verify(token: string): Verified | Unverified {
    const result = verifyJwt(token, deps);
    if (result.kind === "invalid") return result;
    const claims = parseClaims(result.payload);
    if (!claims) return { kind: "invalid", reason: "invalid bearer token" };
    return { kind: "verified", claims, user: claimsUser(claims), forgetAt: deps.now() + rememberMs };
  }

  function remember(digest: string, result: Verified): void {
    remembered.delete(digest);
    remembered.set(digest, result);
    const oldest = remembered.keys().next();
    if (remembered.size > maxRemembered && !oldest.done) remembered.delete(oldest.value);
  }
}

function forAudiences(user: UserInfo, own: readonly string[], wanted: readonly string[]): TokenVerdict {
  const audiences = own.filter((audience) => wanted.includes(audience));
  if (audiences.length > 0) return { kind: "user", user, audiences };
  const reason = `token audiences ${quoteList(own)} is invalid for the target audiences ${quoteList(wanted)}`;
  return { kind: "invalid", reason };
}
