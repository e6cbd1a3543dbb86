import { requiredFieldValue } from "../../../api/meta/field-selector.ts";
import { nodeNameOf } from "../../request/user-info.ts";
import type { Attributes, Authorize, Decision } from "../attributes.ts";
import { nodeRules } from "../bootstrap-policy/component-roles.ts";
import { ruleAllows } from "../rbac/rule-allows.ts";
import type { NodeGraph } from "./node-graph.ts";

type Rule = (nodeName: string, attributes: Attributes, graph: NodeGraph) => Decision;

export const nodeLeaseNamespace = "kube-node-lease";
const yes: Decision = { allowed: true, reason: "" };
const silence: Decision = { allowed: false, reason: "" };

/**
 * Authorizes kubelets: objects that their own pods reference, their own node and its lease, and the rules that all
 * nodes have.
 */
export function createNodeAuthorizer(graph: NodeGraph): Authorize {
  return (attributes) => {
    const nodeName = nodeNameOf(attributes.user);
    if (nodeName === undefined) return silence;
    if (nodeName === "") return no(`unknown node for user ${JSON.stringify(attributes.user.username)}`);
    const { isResourceRequest, apiGroup, resource } = attributes;
    const kind = apiGroup ? `${resource}.${apiGroup}` : resource;
    const rule = isResourceRequest && Object.hasOwn(rules, kind) ? rules[kind] : undefined;
    if (rule) return rule(nodeName, attributes, graph);
    return nodeRules.some((allowed) => ruleAllows(allowed, attributes)) ? yes : silence;
  };
}

/** Rules of the resources for which nodes have different permissions. */
const rules: Readonly<Record<string, Rule>> = {
  secrets: mayRead,
  configmaps: mayRead,
  persistentvolumeclaims: (...request) =>
    request[1].subresource === "status" ? mayUpdateStatus(...request) : mayGet(...request),
  persistentvolumes: mayGet,
  serviceaccounts: mayUseServiceAccount,
  "leases.coordination.k8s.io": mayUseLease,
  "csinodes.storage.k8s.io": mayUseCsiNode,
  nodes: mayUseNode,
  pods: mayUsePod,
  // These resources are not served, so no pod references them and no node may use them.
  "volumeattachments.storage.k8s.io": mayGet,
  "resourceclaims.resource.k8s.io": mayGet,
  "resourceslices.resource.k8s.io": mayGet,
  "podcertificaterequests.certificates.k8s.io": mayGet,
};

function mayRead(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  const { verb, subresource, namespace } = attributes;
  if (!isRead(verb)) return no("can only read resources of this type");
  if (subresource) return no("cannot read subresource");
  if (!namespace) return no("can only read namespaced object of this type");
  return isNeeded(nodeName, attributes, graph);
}

function mayGet(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  if (attributes.verb !== "get") return no("can only get individual resources of this type");
  if (attributes.subresource) return no("cannot get subresource");
  return isNeeded(nodeName, attributes, graph);
}

function mayUpdateStatus(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  if (!isUpdate(attributes.verb)) return no("can only get/update/patch this type");
  return isNeeded(nodeName, attributes, graph);
}

function mayUseServiceAccount(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  const { verb, subresource, name } = attributes;
  if (verb === "get" && !subresource) return mayRead(nodeName, attributes, graph);
  if (verb !== "create" || !name) return no("can only create tokens for individual service accounts");
  if (subresource !== "token") return no("can only create token subresource of serviceaccount");
  return isNeeded(nodeName, attributes, graph);
}

function mayUseLease(nodeName: string, { verb, namespace, name }: Attributes): Decision {
  if (!isOwnVerb(verb)) return no("can only get, create, update, patch, or delete a node lease");
  if (namespace !== nodeLeaseNamespace) {
    return no(`can only access leases in the ${JSON.stringify(nodeLeaseNamespace)} system namespace`);
  }
  // The name of a new object is not known here; NodeRestriction checks it.
  if (verb === "create" || name === nodeName) return yes;
  return no("can only access node lease with the same name as the requesting node");
}

function mayUseCsiNode(nodeName: string, { verb, subresource, name }: Attributes): Decision {
  if (!isOwnVerb(verb)) return no("can only get, create, update, patch, or delete a CSINode");
  if (subresource) return no("cannot authorize CSINode subresources");
  if (verb === "create" || name === nodeName) return yes;
  return no("can only access CSINode with the same name as the requesting node");
}

/** NodeRestriction limits the writes to the node's own object. */
function mayUseNode(nodeName: string, { verb, subresource, name }: Attributes): Decision {
  if (subresource === "status") return isUpdate(verb) ? yes : silence;
  if (subresource) return silence;
  if (verb === "create" || isUpdate(verb)) return yes;
  if (!isRead(verb)) return silence;
  if (name === nodeName) return yes;
  const other = name ? `read '${name}'` : "read all nodes";
  return no(`node '${nodeName}' cannot ${other}, only its own Node object`);
}

/** NodeRestriction limits the writes to pods on the node, and creation to mirror pods. */
function mayUsePod(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  const { verb, subresource, name, fieldSelector = [] } = attributes;
  if (subresource === "status") return isUpdate(verb) ? yes : silence;
  if (subresource === "eviction") return verb === "create" ? yes : silence;
  if (subresource) return silence;
  if (verb === "create" || verb === "delete") return yes;
  if (verb === "get") return isNeeded(nodeName, attributes, graph);
  if (!isRead(verb)) return silence;
  if (requiredFieldValue(fieldSelector, "spec.nodeName") === nodeName) return yes;
  if (name) return isNeeded(nodeName, attributes, graph);
  return no("can only list/watch pods with spec.nodeName field selector");
}

function isNeeded(nodeName: string, attributes: Attributes, graph: NodeGraph): Decision {
  if (!attributes.name) return no("No Object name found");
  if (graph.needs(nodeName, attributes)) return yes;
  return no(`no relationship found between node '${nodeName}' and this object`);
}

function isRead(verb: string): boolean {
  return verb === "get" || verb === "list" || verb === "watch";
}

function isUpdate(verb: string): boolean {
  return verb === "update" || verb === "patch";
}

/** Verbs that a node may use on an object with its own name. */
function isOwnVerb(verb: string): boolean {
  return verb === "get" || verb === "create" || isUpdate(verb) || verb === "delete";
}

function no(reason: string): Decision {
  return { allowed: false, reason };
}
