import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { subjectOf } from "../../../lib/x509/subject-of.ts";
import { authenticatedUser, credentialIdKey, type UserInfo } from "../user-info.ts";

/** What authentication needs of a `TLSSocket` whose server asks for certificates but does not insist on them. */
export type PeerSocket = Pick<TLSSocket, "authorized" | "authorizationError" | "getPeerX509Certificate">;

export type PeerIdentity =
  | { readonly kind: "none" }
  | { readonly kind: "user"; readonly user: UserInfo; readonly notAfter: number }
  | { readonly kind: "invalid"; readonly reason: string };

const identities = new WeakMap<PeerSocket, PeerIdentity>();

/** Who is at the other end of a connection, by its certificate. Read once per connection. */
export function identifyPeer(socket: PeerSocket, now: number): PeerIdentity {
  let identity = identities.get(socket);
  if (!identity) {
    identity = readIdentity(socket);
    identities.set(socket, identity);
  }
  // A connection can outlive the certificate that it was opened with.
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

/** The common name is the username, organizations are groups. */
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
