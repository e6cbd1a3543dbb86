import type { Namespace } from "../../api/meta/objects.ts";
import type { Resource } from "../../api/meta/resource.ts";
import { forbidden, notFound, StatusError } from "../../api/meta/status-error.ts";
import type { Operation } from "./admission-chain.ts";

/** Namespaces that must not be deleted. */
const permanent = ["default", "kube-system", "kube-public"];
const namespaces = { group: "", plural: "namespaces" };

export interface NamespacedWrite {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** Error of a write that the state of its namespace does not allow. `found` is the namespace of the object. */
export function checkNamespaceLifecycle(
  { operation, resource, namespace, name }: NamespacedWrite,
  found: Namespace | undefined,
): StatusError | undefined {
  if (resource.group === "" && resource.plural === "namespaces") {
    const kept = operation === "delete" && permanent.includes(name);
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
