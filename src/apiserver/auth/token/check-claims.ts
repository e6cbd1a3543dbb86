import type { Claims, Reference } from "./claims.ts";

/** As much as a token's validity depends on of the objects it is bound to. */
export interface BoundObject {
  readonly uid: string;
  /** RFC 3339. */
  readonly deletionTimestamp?: string;
}

type Found = BoundObject | undefined;

/** The objects as they are now. A server whose cache can lag behind asks the store before it says "none". */
export interface BoundObjects {
  serviceAccount(namespace: string, name: string): Found | Promise<Found>;
  pod(namespace: string, name: string): Found | Promise<Found>;
  secret(namespace: string, name: string): Found | Promise<Found>;
  node(name: string): Found | Promise<Found>;
}

/** Clocks of several API servers differ; upstream allows a minute. Expiry gets no such grace. */
const leewaySeconds = 60;

/** Why a token is not valid at this time, in upstream's words. */
export function timeProblem({ exp, nbf, iat }: Claims, now: number): string | undefined {
  const seconds = now / 1000;
  if (seconds >= exp) return "service account token has expired";
  if (seconds + leewaySeconds < nbf) return "service account token is not valid yet";
  if (seconds + leewaySeconds < iat) return "service account token is issued in the future";
  return undefined;
}

const invalidated = "service account token has been invalidated";

/** Why a token is no longer good though it was once: what it is bound to is gone, or another by the same name. */
export async function bindingProblem(
  { "kubernetes.io": claim }: Claims,
  objects: BoundObjects,
  now: number,
): Promise<string | undefined> {
  const { namespace, serviceaccount, pod, secret, node } = claim;
  const account = await objects.serviceAccount(namespace, serviceaccount.name);
  if (!account) return `serviceaccounts ${JSON.stringify(serviceaccount.name)} not found`;
  if (account.uid !== serviceaccount.uid) {
    return `service account UID (${account.uid}) does not match claim (${serviceaccount.uid})`;
  }
  if (isLongDeleted(account)) return `service account ${namespace}/${serviceaccount.name} has been deleted`;
  if (secret) {
    const problem = boundProblem("secret", secret, await objects.secret(namespace, secret.name));
    if (problem) return problem;
  }
  if (pod) return boundProblem("pod", pod, await objects.pod(namespace, pod.name));
  // With a pod the node is only told, without one the token is bound to it.
  return node && boundProblem("node", node, await objects.node(node.name));

  function boundProblem(kind: string, reference: Reference, object: Found): string | undefined {
    if (!object) return invalidated;
    if (object.uid !== reference.uid) {
      return `${kind} UID (${object.uid}) does not match service account ${kind} ref claim (${reference.uid})`;
    }
    return isLongDeleted(object) ? invalidated : undefined;
  }

  function isLongDeleted({ deletionTimestamp }: BoundObject): boolean {
    return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) < now - leewaySeconds * 1000;
  }
}
