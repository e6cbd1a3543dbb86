import type { TLSSocket } from "node:tls";
import { subjectOf } from "../../lib/x509/subject-of.ts";

/** Returns the user of a token, or undefined for an invalid token. Rejects when the API server cannot be reached. */
export type ReviewToken = (token: string) => Promise<Caller | undefined>;

export interface Credentials {
  readonly socket: Pick<TLSSocket, "authorized" | "getPeerX509Certificate">;
  /** Value of the `Authorization` header. */
  readonly authorization: string | undefined;
}

export interface AuthenticateDeps {
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

export function authenticatedCaller(caller: Caller): Caller {
  if (caller.groups.includes(authenticated)) return caller;
  return { ...caller, groups: [...caller.groups, authenticated] };
}
