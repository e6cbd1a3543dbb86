import type { TLSSocket } from "node:tls";
import { subjectOf } from "../../lib/x509/subject-of.ts";
import { anonymousCaller, authenticatedCaller, type Caller } from "./caller.ts";
import type { ReviewToken } from "./review-token.ts";

export interface Credentials {
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerX509Certificate">;
  /** The `Authorization` header. */
  readonly authorization: string | undefined;
}

export interface AuthenticateDeps {
  /** Missing where tokens are not asked about. */
  readonly reviewToken: ReviewToken | undefined;
  readonly allowAnonymous: boolean;
  now(): number;
}

/**
 * Who makes a request; undefined for 401. A good certificate decides; else a good token; else a bad one of either is
 * refused; whoever shows neither may be nobody in particular, where that is allowed.
 */
export async function authenticate(
  { socket, authorization = "" }: Credentials,
  { reviewToken, allowAnonymous, now }: AuthenticateDeps,
): Promise<Caller | undefined> {
  const certificate = socket.getPeerX509Certificate();
  // A connection can outlive the certificate that it was opened with.
  if (certificate && socket.authorized && Date.parse(certificate.validTo) >= now()) {
    const subject = subjectOf(certificate);
    if (subject) return authenticatedCaller({ username: subject.commonName, groups: subject.organizations });
  }
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  if (token) return reviewToken?.(token);
  return allowAnonymous && !certificate ? anonymousCaller : undefined;
}
