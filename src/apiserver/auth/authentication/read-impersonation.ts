import { badRequest } from "../../../api/status-error.ts";
import type { UserInfo } from "../user-info.ts";

/** The user that a request wants to be taken for: just what its headers say. */
export type WantedUser = Required<UserInfo>;

const prefix = "impersonate-";
const extraPrefix = "extra-";

/**
 * Reads the `Impersonate-*` headers from `request.rawHeaders`, because the other forms join repeated headers with
 * commas and a group may have commas of its own. Undefined when nobody is to be impersonated.
 */
export function readImpersonation(rawHeaders: readonly string[]): WantedUser | undefined {
  const values = new Map<string, string[]>();
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] ?? "";
    if (header.length <= prefix.length || header.slice(0, prefix.length).toLowerCase() !== prefix) continue;
    const field = header.slice(prefix.length).toLowerCase();
    const value = Buffer.from(rawHeaders[i + 1] ?? "", "latin1").toString();
    values.set(field, [...(values.get(field) ?? []), value]);
  }
  const username = values.get("user")?.[0] ?? "";
  const uid = values.get("uid")?.[0] ?? "";
  const groups = values.get("group") ?? [];
  const extra = [...values].filter(([field]) => field.startsWith(extraPrefix));
  if (username === "") {
    if (!uid && groups.length === 0 && extra.length === 0) return undefined;
    throw badRequest("requested a uid, groups or extra fields without impersonating a user name");
  }
  const keyed = extra.map(([field, list]) => [decodeKey(field.slice(extraPrefix.length)), list]);
  return { username, uid, groups, extra: Object.fromEntries(keyed) };
}

/** Keys are percent-encoded; one that is not properly so is taken as it is. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
