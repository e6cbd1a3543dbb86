import type { StatusError } from "../../../api/status-error.ts";
import { refusal } from "../forbidden.ts";
import { nodeNameOf } from "../user-info.ts";
import { nodeLeaseNamespace } from "./node-authorizer.ts";
import type { NodeRestrictionDeps, NodeWrite, Refusal } from "./node-write.ts";
import { refuseNodeWrite } from "./restrict-node.ts";
import { refuseClaimStatus, refusePod, refusePodEviction, refusePodStatus } from "./restrict-pod.ts";
import { refuseToken } from "./restrict-token.ts";

/** What a kubelet may write, though it is authorized: its own node and lease, and pods that run on it. */
export function refuseNodeRequest(write: NodeWrite, deps: NodeRestrictionDeps): StatusError | undefined {
  const nodeName = nodeNameOf(write.user);
  if (nodeName === undefined) return undefined;
  const refused = nodeName
    ? refuse(nodeName, write, deps)
    : `could not determine node from user ${JSON.stringify(write.user.username)}`;
  if (typeof refused !== "string") return refused;
  const { group, resource, name } = write;
  return refusal({ group, resource, name: name || "Unknown" }, refused);
}

function refuse(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Refusal {
  switch (write.group ? `${write.resource}.${write.group}` : write.resource) {
    case "pods":
      return refusePodRequest(nodeName, write, deps);
    case "nodes":
      return refuseNodeWrite(nodeName, write);
    case "persistentvolumeclaims":
      return write.subresource === "status"
        ? refuseClaimStatus(nodeName, write)
        : "may only update PVC status";
    case "serviceaccounts":
      return write.operation === "CREATE" && write.subresource === "token"
        ? refuseToken(nodeName, write, deps)
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

function refusePodRequest(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Refusal {
  switch (write.subresource) {
    case "":
      return refusePod(nodeName, write, deps);
    case "status":
      return refusePodStatus(nodeName, write);
    case "eviction":
      return refusePodEviction(nodeName, write, deps);
    default:
      return `unexpected pod subresource ${JSON.stringify(write.subresource)}, only 'status' and 'eviction' are allowed`;
  }
}
