import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { subjectOf } from "../../../lib/x509/issuer.ts";
import { anonymousUser, authenticatedUser, credentialIdKey, type UserInfo } from "../../request/user-info.ts";
import type { AuthenticateToken, TokenVerdict } from "../token/authenticate-token.ts";
import { tokenDigest } from "../token/token-file.ts";

interface Credentials {
  readonly socket: PeerSocket;
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
}

export type Authentication =
  | { readonly kind: "user"; readonly user: UserInfo }
  | { readonly kind: "anonymous"; readonly user: UserInfo }
  /** The credential is invalid: 401. The reason is logged and not sent to the client. */
  | { readonly kind: "unauthorized"; readonly reason: string };

interface AuthenticateDeps {
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
  now(): number;
}

/**
 * Authenticates by client certificate, then by bearer token. Without a valid one: 401 if either was invalid, else the
 * anonymous user.
 */
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

/** Cached bearer token of each connection, because clients send the same one with every request. */
const bearers = new WeakMap<PeerSocket, Bearer>();

/** Reads the bearer token. As upstream, any other scheme counts as no credential. */
function readBearer(socket: PeerSocket, authorization = ""): Bearer | undefined {
  const known = bearers.get(socket);
  if (known?.authorization === authorization) return known;
  const [scheme = "", token] = authorization.trim().split(" ", 2);
  if (scheme.toLowerCase() !== "bearer" || !token) return undefined;
  const bearer = { authorization, token, digest: tokenDigest(token) };
  bearers.set(socket, bearer);
  return bearer;
}

/** TLS socket of a server that requests client certificates without requiring them. */
export type PeerSocket = Pick<TLSSocket, "authorized" | "authorizationError" | "getPeerX509Certificate">;

type PeerIdentity =
  | { readonly kind: "none" }
  | { readonly kind: "user"; readonly user: UserInfo; readonly notAfter: number }
  | { readonly kind: "invalid"; readonly reason: string };

const identities = new WeakMap<PeerSocket, PeerIdentity>();

/** Identifies the client of a connection by its certificate, which is read once per connection. */
export function identifyPeer(socket: PeerSocket, now: number): PeerIdentity {
  let identity = identities.get(socket);
  if (!identity) {
    identity = readIdentity(socket);
    identities.set(socket, identity);
  }
  // The certificate may expire while the connection is open.
  if (identity.kind === "user" && identity.notAfter < now) {
    return { kind: "invalid", reason: "the client certificate has expired" };
  }
  return identity;
}

function readIdentity(socket: PeerSocket): PeerIdentity {
  const certificate = socket.getPeerX509Certificate();
  if (!certificate) return { kind: "none" };
  if (!socket.authorized) {
    const error: unknown = socket.authorizationError;
    return { kind: "invalid", reason: `verifying the client certificate failed: ${String(error)}` };
  }
  const user = certificateUser(certificate);
  return user ? { kind: "user", user, notAfter: Date.parse(certificate.validTo) } : { kind: "none" };
}

/** User of a certificate: the common name is the username, organizations are groups. */
function certificateUser(certificate: X509Certificate): UserInfo | undefined {
  const subject = subjectOf(certificate);
  if (!subject) return undefined;
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return authenticatedUser({
    username: subject.commonName,
    groups: subject.organizations,
    extra: { [credentialIdKey]: [`X509SHA256=${fingerprint}`] },
  });
}
