export interface OwnerFacts {
  readonly kind: string;
  readonly name: string;
  /** `pod-template-hash` or `controller-revision-hash`. */
  readonly revision: string;
}

/**
 * `Kind/name` of what a pod belongs to. The ReplicaSets of a Deployment are its revisions: the pods of all of them
 * belong to the one Deployment.
 */
export function nameOwner({ kind, name, revision }: OwnerFacts): string {
  const ending = `-${revision}`;
  if (kind === "ReplicaSet" && revision && name.endsWith(ending)) {
    return `Deployment/${name.slice(0, -ending.length)}`;
  }
  return `${kind}/${name}`;
}
