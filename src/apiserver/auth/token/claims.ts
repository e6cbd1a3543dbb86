import {
  authenticatedUser,
  credentialIdKey,
  nodeNameKey,
  serviceAccountGroups,
  serviceAccountUsername,
  type UserInfo,
} from "../../request/user-info.ts";

export interface Reference {
  readonly name: string;
  /** Undefined only for the node of a pod if that node does not exist. */
  readonly uid?: string;
}

/** The claims of a service account token. Times are seconds since the epoch. */
export interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly nbf: number;
  readonly iat: number;
  readonly jti: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly serviceaccount: Reference;
    readonly pod?: Reference;
    readonly secret?: Reference;
    readonly node?: Reference;
    /** Time by which clients should have replaced the token. It remains valid. */
    readonly warnafter?: number;
  };
}

export type Binding = Pick<Claims["kubernetes.io"], "pod" | "secret" | "node">;

interface ClaimsInput {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly serviceAccount: Reference & { readonly namespace: string };
  readonly binding: Binding;
  readonly expirationSeconds: number;
  readonly warnAfterSeconds?: number;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export function buildClaims(input: ClaimsInput): Claims {
  const { namespace, name, uid } = input.serviceAccount;
  const issuedAt = Math.floor(input.now / 1000);
  return {
    iss: input.issuer,
    sub: serviceAccountUsername(namespace, name),
    aud: input.audiences,
    exp: issuedAt + input.expirationSeconds,
    nbf: issuedAt,
    iat: issuedAt,
    jti: input.id,
    "kubernetes.io": {
      namespace,
      serviceaccount: { name, uid },
      ...input.binding,
      ...(input.warnAfterSeconds && { warnafter: issuedAt + input.warnAfterSeconds }),
    },
  };
}

/** User of a valid token. Groups are derived from the service account, never read from the token. */
export function claimsUser({ jti, "kubernetes.io": own }: Claims): UserInfo {
  const { namespace, serviceaccount, pod, node } = own;
  return authenticatedUser({
    username: serviceAccountUsername(namespace, serviceaccount.name),
    uid: serviceaccount.uid,
    groups: serviceAccountGroups(namespace),
    extra: {
      [credentialIdKey]: [`JTI=${jti}`],
      ...(pod?.uid && {
        "authentication.kubernetes.io/pod-name": [pod.name],
        "authentication.kubernetes.io/pod-uid": [pod.uid],
      }),
      ...(node && { [nodeNameKey]: [node.name] }),
      ...(node?.uid && { "authentication.kubernetes.io/node-uid": [node.uid] }),
    },
  });
}

/** Parses a verified payload. Undefined if it is not that of a service account token. */
export function parseClaims(payload: Readonly<Record<string, unknown>>): Claims | undefined {
  const { iss, sub, jti, exp, nbf, iat, "kubernetes.io": own } = payload;
  const aud = [payload.aud].flat();
  if (!isString(iss) || !isString(sub) || !isString(jti) || !aud.every(isString)) return undefined;
  if (!isTime(exp) || !isTime(nbf) || !isTime(iat)) return undefined;
  if (typeof own !== "object" || own === null) return undefined;

  const { namespace, serviceaccount, pod, secret, node }: Record<string, unknown> = { ...own };
  if (!isString(namespace) || !isReference(serviceaccount)) return undefined;
  if (!isOptionalReference(pod) || !isOptionalReference(secret) || !isOptionalReference(node))
    return undefined;
  const bound = { namespace, serviceaccount, pod, secret, node };
  return { iss, sub, jti, exp, nbf, iat, aud, "kubernetes.io": bound };
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isReference(value: unknown): value is Reference {
  if (typeof value !== "object" || value === null || !("name" in value)) return false;
  return isString(value.name) && (!("uid" in value) || isString(value.uid));
}

function isOptionalReference(value: unknown): value is Reference | undefined {
  return value === undefined || isReference(value);
}

/** Fields of a bound object on which the validity of a token depends. */
export interface BoundObject {
  readonly uid: string;
  /** RFC 3339. */
  readonly deletionTimestamp?: string;
}

type Found = BoundObject | undefined;

/** Current objects. If the cache may lag behind, the store is read before an object counts as missing. */
export interface BoundObjects {
  serviceAccount(namespace: string, name: string): Found | Promise<Found>;
  pod(namespace: string, name: string): Found | Promise<Found>;
  secret(namespace: string, name: string): Found | Promise<Found>;
  node(name: string): Found | Promise<Found>;
}

/** Tolerated clock difference between API servers, as upstream. It does not extend the expiry. */
const leewaySeconds = 60;

/** Reason why a token is not valid at this time, worded as upstream. Undefined if it is valid. */
export function timeProblem({ exp, nbf, iat }: Claims, now: number): string | undefined {
  const seconds = now / 1000;
  if (seconds >= exp) return "service account token has expired";
  if (seconds + leewaySeconds < nbf) return "service account token is not valid yet";
  if (seconds + leewaySeconds < iat) return "service account token is issued in the future";
  return undefined;
}

const invalidated = "service account token has been invalidated";

/** Reason why a bound object invalidates a token: it is gone, or was replaced by another object of the same name. */
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
  // The node of a token with a pod is informational; without a pod the token is bound to the node.
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
