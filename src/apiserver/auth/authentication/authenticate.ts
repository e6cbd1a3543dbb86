import type { AuthenticateToken } from "../token/authenticate-token.ts";
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
export async function authenticate(
  { socket, authorization }: Credentials,
  deps: AuthenticateDeps,
): Promise<Authentication> {
  const peer = identifyPeer(socket, deps.now());
  if (peer.kind === "user") return { kind: "user", user: peer.user };
  const token = bearerToken(authorization);
  if (token) {
    const verdict = await deps.authenticateToken(token, deps.apiAudiences);
    if (verdict.kind === "user") return { kind: "user", user: verdict.user };
    return { kind: "unauthorized", reason: verdict.reason };
  }
  if (peer.kind === "invalid") return { kind: "unauthorized", reason: peer.reason };
  return { kind: "anonymous", user: anonymousUser };
}

/** Any other scheme counts as no credential, as upstream has it. */
function bearerToken(authorization = ""): string | undefined {
  const [scheme = "", token] = authorization.trim().split(" ", 2);
  return scheme.toLowerCase() === "bearer" ? token : undefined;
}
