import { isDeepStrictEqual } from "node:util";
import type { Node, Pod } from "../../../api/meta/objects.ts";
import { notFound, type StatusError } from "../../../api/meta/status-error.ts";
import { nodeNameOf } from "../../request/user-info.ts";
import { refusal, resourceAttributes } from "../attributes.ts";
import type { TokenRequest } from "../token/request-token.ts";
import { nodeLeaseNamespace } from "./node-authorizer.ts";
import {
  type NodeRestrictionDeps,
  type NodeWrite,
  type Rejection,
  rejectClaimStatus,
  rejectPod,
  rejectPodEviction,
  rejectPodStatus,
} from "./restrict-pod.ts";

/** Restricts authorized writes of kubelets to their own node and lease, and to pods that run on the node. */
export function rejectNodeRequest(write: NodeWrite, deps: NodeRestrictionDeps): StatusError | undefined {
  const nodeName = nodeNameOf(write.user);
  if (nodeName === undefined) return undefined;
  const refused = nodeName
    ? reject(nodeName, write, deps)
    : `could not determine node from user ${JSON.stringify(write.user.username)}`;
  if (typeof refused !== "string") return refused;
  const { group, resource, name } = write;
  return refusal({ group, resource, name: name || "Unknown" }, refused);
}

function reject(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Rejection {
  switch (write.group ? `${write.resource}.${write.group}` : write.resource) {
    case "pods":
      return rejectPodRequest(nodeName, write, deps);
    case "nodes":
      return rejectNodeWrite(nodeName, write);
    case "persistentvolumeclaims":
      return write.subresource === "status"
        ? rejectClaimStatus(nodeName, write)
        : "may only update PVC status";
    case "serviceaccounts":
      return write.operation === "CREATE" && write.subresource === "token"
        ? rejectToken(nodeName, write, deps)
        : undefined;
    case "leases.coordination.k8s.io":
      if (write.namespace !== nodeLeaseNamespace) {
        return `can only access leases in the ${JSON.stringify(nodeLeaseNamespace)} system namespace`;
      }
      return write.name === nodeName
        ? undefined
        : "can only access node lease with the same name as the requesting node";
    case "csinodes.storage.k8s.io":
      return write.name === nodeName
        ? undefined
        : "can only access CSINode with the same name as the requesting node";
    default:
      return undefined;
  }
}

function rejectPodRequest(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Rejection {
  switch (write.subresource) {
    case "":
      return rejectPod(nodeName, write, deps);
    case "status":
      return rejectPodStatus(nodeName, write);
    case "eviction":
      return rejectPodEviction(nodeName, write, deps);
    default:
      return `unexpected pod subresource ${JSON.stringify(write.subresource)}, only 'status' and 'eviction' are allowed`;
  }
}

/** Rejects changes of labels and taints with which a node could attract other workloads. */
function rejectNodeWrite(nodeName: string, write: NodeWrite): Rejection {
  const who = `node ${JSON.stringify(nodeName)}`;
  if (write.name !== nodeName) return `${who} is not allowed to modify node ${JSON.stringify(write.name)}`;
  const node = write.object as Node | undefined;
  const oldNode = write.oldObject as Node | undefined;
  const labels = forbiddenLabels(node?.metadata.labels, oldNode?.metadata.labels);
  if (write.operation === "CREATE") {
    if (node?.spec?.configSource) return `${who} is not allowed to create pods with a non-nil configSource`;
    if (labels.length > 0) return `${who} is not allowed to set the following labels: ${labels.join(", ")}`;
  }
  if (write.operation === "UPDATE") {
    const source = node?.spec?.configSource;
    if (source && !isDeepStrictEqual(source, oldNode?.spec?.configSource)) {
      return `${who} is not allowed to update configSource to a new non-nil configSource`;
    }
    if (!sameList(node?.spec?.taints, oldNode?.spec?.taints)) return `${who} is not allowed to modify taints`;
    if (!sameList(node?.metadata.ownerReferences, oldNode?.metadata.ownerReferences)) {
      return `${who} is not allowed to modify ownerReferences`;
    }
    if (labels.length > 0) return `is not allowed to modify labels: ${labels.join(", ")}`;
  }
  return undefined;
}

/** Whether two lists are equal. A missing list equals an empty one. */
function sameList(a: readonly unknown[] = [], b: readonly unknown[] = []): boolean {
  return isDeepStrictEqual(a, b);
}

type Labels = Readonly<Record<string, string>>;

function forbiddenLabels(labels: Labels = {}, oldLabels: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(oldLabels)]);
  return [...keys].filter((key) => labels[key] !== oldLabels[key] && !mayNodeSet(key)).sort();
}

const kubeletLabels = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);

/**
 * Whether a node may set a label: all except those in the kubernetes.io and k8s.io namespaces, of which a few are
 * allowed.
 */
function mayNodeSet(key: string): boolean {
  const domain = key.includes("/") ? key.slice(0, key.indexOf("/")) : "";
  if (isWithin(domain, "node-restriction.kubernetes.io")) return false;
  if (!isWithin(domain, "kubernetes.io") && !isWithin(domain, "k8s.io")) return true;
  return (
    kubeletLabels.has(key) ||
    isWithin(domain, "kubelet.kubernetes.io") ||
    isWithin(domain, "node.kubernetes.io")
  );
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}

/** Restricts token requests to pods that run on the node and to audiences that these pods request. */
function rejectToken(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Rejection {
  const { spec } = (write.object ?? {}) as TokenRequest;
  const { apiVersion, kind, name, uid } = spec?.boundObjectRef ?? {};
  if (apiVersion !== "v1" || kind !== "Pod" || !name) return "node requested token not bound to a pod";
  if (!uid) return "node requested token with a pod binding without a uid";
  const pod = deps.pod(write.namespace, name);
  if (!pod) return notFound({ group: "", plural: "pods" }, name);
  if (uid !== pod.metadata.uid) {
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  if (pod.spec?.nodeName !== nodeName)
    return "node requested token bound to a pod scheduled on a different node";

  const [audience = "", ...more] = spec?.audiences ?? [];
  if (more.length > 0) return "node may only request 0 or 1 audiences";
  if (podAsksFor(pod, audience)) return undefined;
  const { user, namespace, name: serviceAccount } = write;
  const { allowed } = deps.authorize(
    resourceAttributes({
      user,
      verb: "request-serviceaccounts-token-audience",
      apiVersion: "v1",
      resource: audience,
      namespace,
      name: serviceAccount,
    }),
  );
  if (allowed) return undefined;
  return `audience ${JSON.stringify(audience)} not found in pod spec volume, ${user.username} is not authorized to request tokens for this audience`;
}

function podAsksFor(pod: Pod, audience: string): boolean {
  return (pod.spec?.volumes ?? [])
    .flatMap((volume) => volume.projected?.sources ?? [])
    .some(
      ({ serviceAccountToken }) => serviceAccountToken && (serviceAccountToken.audience ?? "") === audience,
    );
}
