import { controllerOf } from "../meta/object-facts.ts";
import type { Pod } from "../meta/objects.ts";

interface OwnerFacts {
  readonly kind: string;
  readonly name: string;
  /** `pod-template-hash` or `controller-revision-hash`. */
  readonly revision: string;
}

/** `Kind/name` of the workload that owns a pod. For a ReplicaSet of a Deployment, this is the Deployment. */
export function nameWorkload({ kind, name, revision }: OwnerFacts): string {
  const ending = `-${revision}`;
  if (kind === "ReplicaSet" && revision && name.endsWith(ending)) {
    return `Deployment/${name.slice(0, -ending.length)}`;
  }
  return `${kind}/${name}`;
}

/** `Kind/name` of the pod's workload. A pod without a controller is its own workload. */
export function workloadOf(pod: Pod): string {
  const { name = "", labels = {} } = pod.metadata;
  const owner = controllerOf(pod);
  const revision = labels["controller-revision-hash"] ?? labels["pod-template-hash"] ?? "";
  return nameWorkload({ kind: owner?.kind ?? "Pod", name: owner?.name ?? name, revision });
}
