import type { StatusError } from "../../../api/status-error.ts";
import { type Attributes, type Authorize, resourceAttributes } from "../attributes.ts";
import { forbiddenRequest } from "../forbidden.ts";
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
} from "../user-info.ts";
import type { WantedUser } from "./read-impersonation.ts";

export type Impersonation =
  | { readonly kind: "user"; readonly user: UserInfo }
  | { readonly kind: "refused"; readonly error: StatusError };

/**
 * The ways to be allowed to impersonate, in the order in which they are tried. The constrained ones need two
 * permissions: to be such a user, and to do as such a user what the request does. The plain verb `impersonate`,
 * the legacy, is enough by itself.
 */
type Mode = "associated-node" | "arbitrary-node" | "serviceaccount" | "user-info" | "legacy";

/** `request` is what the requester asks for. When nothing allows it, the first refusal is the one that is told. */
export function impersonate(wanted: WantedUser, request: Attributes, authorize: Authorize): Impersonation {
  let refused: { asked: Attributes; reason: string } | undefined;
  for (const mode of modesFor(wanted, request.user)) {
    const asked = questions(mode, wanted, request).find((question) => !authorize(question).allowed);
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

/** Every permission that a mode demands, as questions to the authorizer. */
function questions(mode: Mode, wanted: WantedUser, request: Attributes): Attributes[] {
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
