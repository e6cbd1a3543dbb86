import { badRequest, type StatusError } from "../../../api/meta/status-error.ts";
import {
  anonymousUser,
  authenticatedUser,
  mastersGroup,
  nodeNameKey,
  nodeNameOfUsername,
  nodesGroup,
  serviceAccountGroups,
  serviceAccountOfUsername,
  type UserInfo,
  unauthenticatedGroup,
} from "../../request/user-info.ts";
import { type Attributes, type Authorize, forbiddenRequest, resourceAttributes } from "../attributes.ts";

type Impersonation =
  | { readonly kind: "user"; readonly user: UserInfo }
  | { readonly kind: "refused"; readonly error: StatusError };

/**
 * Ways in which impersonation is authorized, in the order in which they are tried. The constrained modes need two
 * permissions: to impersonate that user, and to perform the request while impersonating. The legacy verb `impersonate`
 * is sufficient alone.
 */
type Mode = "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info" | "legacy";

/**
 * Authorizes an impersonation. `request` has the attributes of the impersonator's request. If no mode allows it, the
 * first denial is returned.
 */
export function impersonate(wanted: WantedUser, request: Attributes, authorize: Authorize): Impersonation {
  let refused: { asked: Attributes; reason: string } | undefined;
  for (const mode of modesFor(wanted, request.user)) {
    const asked = permissionChecks(mode, wanted, request).find((check) => !authorize(check).allowed);
    if (asked) refused ??= { asked, reason: authorize(asked).reason };
    else if (mode === "legacy" || !wanted.groups.includes(mastersGroup)) {
      return { kind: "user", user: becomeUser(mode, wanted) };
    } else refused ??= { asked: request, reason: "impersonating the system:masters group is not allowed" };
  }
  return { kind: "refused", error: forbiddenRequest(refused?.asked ?? request, refused?.reason ?? "") };
}

function modesFor(wanted: WantedUser, requester: UserInfo): Mode[] {
  const { username, uid, groups, extra } = wanted;
  const nodeName = nodeNameOfUsername(username);
  const isAccount = serviceAccountOfUsername(username) !== undefined;
  if (nodeName === undefined && !isAccount) return ["user-info", "legacy"];
  if (uid || groups.length > 0 || Object.keys(extra).length > 0) return ["legacy"];
  if (isAccount) return ["serviceaccount", "legacy"];
  const isOwnNode =
    serviceAccountOfUsername(requester.username) !== undefined &&
    requester.extra[nodeNameKey]?.length === 1 &&
    requester.extra[nodeNameKey][0] === nodeName;
  return isOwnNode ? ["associated-node", "arbitrary-node", "legacy"] : ["arbitrary-node", "legacy"];
}

/** Permission checks of a mode, as attributes for the authorizer. */
function permissionChecks(mode: Mode, wanted: WantedUser, request: Attributes): Attributes[] {
  const { username, uid, groups, extra } = wanted;
  const authentication = "authentication.k8s.io";
  const apiGroup = mode === "legacy" ? "" : authentication;
  const common = {
    user: request.user,
    verb: mode === "legacy" ? "impersonate" : `impersonate:${mode}`,
    apiVersion: "v1",
  };
  return [
    ...(mode === "legacy" ? [] : [{ ...request, verb: `impersonate-on:${mode}:${request.verb}` }]),
    resourceAttributes({ ...common, apiGroup, ...subjectOf(mode, username) }),
    ...[uid].filter(Boolean).map((name) => ask(authentication, "uids", { name })),
    ...groups.map((name) => ask(apiGroup, "groups", { name })),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((name) => ask(authentication, "userextras", { subresource, name })),
    ),
  ];

  function ask(group: string, resource: string, more: Partial<Attributes>): Attributes {
    return resourceAttributes({ ...common, apiGroup: group, resource, ...more });
  }
}

function subjectOf(mode: Mode, username: string): Pick<Attributes, "resource" | "name" | "namespace"> {
  const account = serviceAccountOfUsername(username);
  if (account) return { resource: "serviceaccounts", ...account };
  const nodeName = nodeNameOfUsername(username);
  if (mode === "legacy" || nodeName === undefined)
    return { resource: "users", name: username, namespace: "" };
  return { resource: "nodes", name: mode === "associated-node" ? "*" : nodeName, namespace: "" };
}

function becomeUser(mode: Mode, { username, uid, groups, extra }: WantedUser): UserInfo {
  const account = serviceAccountOfUsername(username);
  const ownGroups = account && groups.length === 0 ? serviceAccountGroups(account.namespace) : groups;
  const isNode = mode === "associated-node" || mode === "arbitrary-node";
  const user = { username, ...(uid && { uid }), groups: isNode ? [nodesGroup] : ownGroups, extra };
  if (username !== anonymousUser.username || groups.includes(unauthenticatedGroup))
    return authenticatedUser(user);
  return { ...user, groups: [...groups, unauthenticatedGroup] };
}

/** Impersonated user as given by the request's headers. */
export type WantedUser = Required<UserInfo>;

const prefix = "impersonate-";
const extraPrefix = "extra-";

/**
 * Reads the `Impersonate-*` headers from `request.rawHeaders`, because the other forms join repeated headers with
 * commas and group names may contain commas. Undefined without impersonation headers.
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

/** Decodes a percent-encoded key. Keys that are not valid percent-encoding are used unchanged. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
