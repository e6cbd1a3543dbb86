import type { AuthenticateToken, TokenVerdict } from "../token/authenticate-token.ts";
import { tokenDigest } from "../token/token-digest.ts";
import { anonymousUser, type UserInfo } from "../user-info.ts";
import { identifyPeer, type PeerSocket } from "./client-certificate.ts";

export interface Credentials {
  readonly socket: PeerSocket;
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
}

export type Authentication =
  | { readonly kind: "user"; readonly user: UserInfo }
  | { readonly kind: "anonymous"; readonly user: UserInfo }
  /** A credential was shown and is no good: 401. The reason is for the log; the client is not told it. */
  | { readonly kind: "unauthorized"; readonly reason: string };

export interface AuthenticateDeps {
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
  now(): number;
}

/** A good certificate decides; else a good token; else a bad one of either is refused; else nobody in particular. */
export function authenticate(
  { socket, authorization }: Credentials,
  deps: AuthenticateDeps,
): Authentication | Promise<Authentication> {
  const peer = identifyPeer(socket, deps.now());
  if (peer.kind === "user") return { kind: "user", user: peer.user };
  const bearer = readBearer(socket, authorization);
  if (bearer) {
    const verdict = deps.authenticateToken(bearer.token, deps.apiAudiences, bearer.digest);
    return verdict instanceof Promise ? verdict.then(judge) : judge(verdict);
  }
  if (peer.kind === "invalid") return { kind: "unauthorized", reason: peer.reason };
  return { kind: "anonymous", user: anonymousUser };
}

function judge(verdict: TokenVerdict): Authentication {
  if (verdict.kind === "user") return { kind: "user", user: verdict.user };
  return { kind: "unauthorized", reason: verdict.reason };
}

interface Bearer {
  readonly authorization: string;
  readonly token: string;
  readonly digest: string;
}

/** The last bearer token of each connection: clients send the same one with every request. */
const bearers = new WeakMap<PeerSocket, Bearer>();

/** Any other scheme counts as no credential, as upstream has it. */
function readBearer(socket: PeerSocket, authorization = ""): Bearer | undefined {
  const known = bearers.get(socket);
  if (known?.authorization === authorization) return known;
  const [scheme = "", token] = authorization.trim().split(" ", 2);
  if (scheme.toLowerCase() !== "bearer" || !token) return undefined;
  const bearer = { authorization, token, digest: tokenDigest(token) };
  bearers.set(socket, bearer);
  return bearer;
}
