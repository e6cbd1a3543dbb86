import { quoteList } from "../quote-list.ts";
import type { UserInfo } from "../user-info.ts";
import { type BoundObjects, bindingProblem, timeProblem } from "./check-claims.ts";
import { type Claims, claimsUser } from "./claims.ts";
import { type Unverified, verifyJwt } from "./jwt.ts";
import { parseClaims } from "./parse-claims.ts";
import type { SigningKey } from "./signing-key.ts";
import { tokenDigest } from "./token-digest.ts";
import type { StaticTokens } from "./token-file.ts";

export type TokenVerdict =
  | { readonly kind: "user"; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly kind: "invalid"; readonly reason: string };

/**
 * Whom a bearer token stands for, towards those who answer to one of the audiences. Who has the token's digest
 * already may give it. Answers at once where nothing has to be looked up.
 */
export type AuthenticateToken = (
  token: string,
  audiences: readonly string[],
  digest?: string,
) => TokenVerdict | Promise<TokenVerdict>;

export interface TokenDeps {
  readonly issuer: string;
  /** The audiences of the API itself. */
  readonly apiAudiences: readonly string[];
  /** The one that signs, and those that signed before it. */
  readonly keys: readonly SigningKey[];
  readonly objects: BoundObjects;
  readonly staticTokens?: StaticTokens;
  now(): number;
}

interface Verified {
  readonly kind: "verified";
  readonly claims: Claims;
  /** Made once per token: decisions about users are cached by identity. */
  readonly user: UserInfo;
  readonly forgetAt: number;
}

const maxRemembered = 10_000;
const rememberMs = 60_000;

export function createTokenAuthenticator(deps: TokenDeps): AuthenticateToken {
  // Remembers only what cannot change, that a signature holds. Expiry and bindings are checked every time.
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
