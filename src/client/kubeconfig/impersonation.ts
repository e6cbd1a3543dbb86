/** User that the requests are made as, if the credentials may impersonate it. */
export interface Impersonation {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Problem of an impersonation that the API server would reject; undefined if there is none. */
export function impersonationProblem({ user, uid, groups, extra }: Impersonation): string | undefined {
  const hasMore = uid || groups?.length || (extra && Object.keys(extra).length > 0);
  return hasMore && !user ? "a UID, groups and extra fields can only be impersonated with a user" : undefined;
}

/** Headers of each request that impersonates. */
export function impersonationHeaders({
  user,
  uid,
  groups = [],
  extra = {},
}: Impersonation): Record<string, string | string[]> {
  const extras = Object.entries(extra).map(([key, values]) => [
    // Keys may have characters that a header name must not have.
    `impersonate-extra-${encodeURIComponent(key.toLowerCase())}`,
    [...values],
  ]);
  return {
    ...(user && { "impersonate-user": user }),
    ...(uid && { "impersonate-uid": uid }),
    ...(groups.length > 0 && { "impersonate-group": [...groups] }),
    ...Object.fromEntries(extras),
  };
}
