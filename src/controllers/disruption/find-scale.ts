import { controllerOf } from "../../api/controller-reference.ts";
import type { Pod } from "../../api/objects.ts";
import type { Informers } from "../informers.ts";
import { ownerOf } from "../owner-of.ts";
import type { Scale } from "./decide-disruption.ts";

/** How many pods the one in charge of a pod asks for: its Deployment, where a ReplicaSet belongs to one. */
export function createScaleFinder(informers: Informers): (pod: Pod) => Scale | "none" | undefined {
  const deployments = informers.of("deployments");
  const replicaSets = informers.of("replicasets");
  const statefulSets = informers.of("statefulsets");

  return (pod) => {
    if (!controllerOf(pod)) return "none";
    const replicaSet = ownerOf(pod, "ReplicaSet", replicaSets);
    const owner = replicaSet
      ? controllerOf(replicaSet)?.kind === "Deployment"
        ? ownerOf(replicaSet, "Deployment", deployments)
        : replicaSet
      : ownerOf(pod, "StatefulSet", statefulSets);
    return owner && { uid: owner.metadata.uid ?? "", replicas: owner.spec?.replicas ?? 1 };
  };
}
