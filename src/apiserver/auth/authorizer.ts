import type { Authorize, Decision } from "./attributes.ts";
import type { RbacAuthorizer } from "./rbac/rbac-authorizer.ts";
import { mastersGroup } from "./user-info.ts";

const allowed: Decision = { allowed: true, reason: "" };

/** Masters may do everything; else nodes what the node authorizer lets them, and everybody what RBAC does. */
export function createAuthorizer(nodes: Authorize, rbac: RbacAuthorizer): Authorize {
  return (attributes) => {
    if (attributes.user.groups.includes(mastersGroup)) return allowed;
    const asNode = nodes(attributes);
    if (asNode.allowed) return asNode;
    const byRole = rbac.authorize(attributes);
    if (byRole.allowed || !asNode.reason) return byRole;
    return { allowed: false, reason: [asNode.reason, byRole.reason].filter(Boolean).join("\n") };
  };
}
