import {
  authenticatedUser,
  credentialIdKey,
  nodeNameKey,
  serviceAccountGroups,
  serviceAccountUsername,
  type UserInfo,
} from "../user-info.ts";

export interface Reference {
  readonly name: string;
  /** Empty only for the node of a pod when that node does not exist. */
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
    /** From then on the token should have been replaced, though it still works. */
    readonly warnafter?: number;
  };
}

export type Binding = Pick<Claims["kubernetes.io"], "pod" | "secret" | "node">;

export interface ClaimsInput {
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

/** The user that a valid token stands for. Groups come from the service account alone, never from the token. */
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
