import type { Namespace } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import { forbidden, notFound, StatusError } from "../../api/status-error.ts";

/** Namespaces that the cluster cannot do without. */
const immortal = ["default", "kube-system", "kube-public"];
const namespaces = { group: "", plural: "namespaces" };

export interface NamespacedWrite {
  readonly operation: "create" | "update" | "delete";
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** Why a write may not happen, given the namespace as it is: nothing new comes into one that is going. */
export function refuseByNamespace(
  { operation, resource, namespace, name }: NamespacedWrite,
  found: Namespace | undefined,
): StatusError | undefined {
  if (resource.group === "" && resource.plural === "namespaces") {
    const kept = operation === "delete" && immortal.includes(name);
    return kept ? forbidden(namespaces, name, "this namespace may not be deleted") : undefined;
  }
  if (!resource.namespaced || operation === "delete") return undefined;
  if (!found) return notFound(namespaces, namespace);
  if (operation === "create" && found.status?.phase === "Terminating") {
    return terminating(resource, name, namespace);
  }
  return undefined;
}

function terminating(resource: Resource, name: string, namespace: string): StatusError {
  const detail = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { code, reason, message, details } = forbidden(resource, name, detail);
  const cause = {
    reason: "NamespaceTerminating",
    message: `namespace ${namespace} is being terminated`,
    field: "metadata.namespace",
  };
  return new StatusError(code, reason, message, { ...details, causes: [cause] });
}
