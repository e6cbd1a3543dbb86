import type { Pod } from "../../../api/objects.ts";
import { notFound } from "../../../api/status-error.ts";
import { resourceAttributes } from "../attributes.ts";
import type { TokenRequest } from "../token/request-token.ts";
import type { NodeRestrictionDeps, NodeWrite, Refusal } from "./node-write.ts";

/** Nodes get tokens for pods that run on them, for audiences that the pods ask for. */
export function refuseToken(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Refusal {
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
