import type { KubeObject } from "../../api/objects.ts";
import { qualifiedName, type Resource } from "../../api/resources.ts";
import { configMapStrategy } from "./config-map.ts";
import { controllerRevisionStrategy } from "./controller-revision.ts";
import { deploymentStrategy } from "./deployment.ts";
import { endpointSliceStrategy } from "./endpoint-slice.ts";
import { endpointsStrategy } from "./endpoints.ts";
import { eventStrategy, newEventStrategy } from "./event.ts";
import { leaseStrategy } from "./lease.ts";
import { namespaceStrategy } from "./namespace.ts";
import { nodeStrategy } from "./node.ts";
import { persistentVolumeStrategy } from "./persistent-volume.ts";
import { claimStrategy } from "./persistent-volume-claim.ts";
import { podStrategy } from "./pod.ts";
import { podDisruptionBudgetStrategy } from "./pod-disruption-budget.ts";
import { priorityClassStrategy } from "./priority-class.ts";
import {
  clusterRoleBindingStrategy,
  clusterRoleStrategy,
  roleBindingStrategy,
  roleStrategy,
} from "./rbac.ts";
import { replicaSetStrategy } from "./replica-set.ts";
import { runtimeClassStrategy } from "./runtime-class.ts";
import { secretStrategy } from "./secret.ts";
import { serviceStrategy } from "./service.ts";
import { serviceAccountStrategy } from "./service-account.ts";
import { statefulSetStrategy } from "./stateful-set.ts";
import { storageClassStrategy } from "./storage-class.ts";
import type { Strategy } from "./strategy.ts";

/** One row for each kind of resources.ts. */
const strategies: Readonly<Record<string, Strategy>> = {
  namespaces: ofKind(namespaceStrategy),
  pods: ofKind(podStrategy),
  nodes: ofKind(nodeStrategy),
  events: ofKind(eventStrategy),
  configmaps: ofKind(configMapStrategy),
  secrets: ofKind(secretStrategy),
  serviceaccounts: ofKind(serviceAccountStrategy),
  services: ofKind(serviceStrategy),
  endpoints: ofKind(endpointsStrategy),
  persistentvolumes: ofKind(persistentVolumeStrategy),
  persistentvolumeclaims: ofKind(claimStrategy),
  "statefulsets.apps": ofKind(statefulSetStrategy),
  "deployments.apps": ofKind(deploymentStrategy),
  "replicasets.apps": ofKind(replicaSetStrategy),
  "controllerrevisions.apps": ofKind(controllerRevisionStrategy),
  "leases.coordination.k8s.io": ofKind(leaseStrategy),
  "endpointslices.discovery.k8s.io": ofKind(endpointSliceStrategy),
  "events.events.k8s.io": ofKind(newEventStrategy),
  "runtimeclasses.node.k8s.io": ofKind(runtimeClassStrategy),
  "poddisruptionbudgets.policy": ofKind(podDisruptionBudgetStrategy),
  "roles.rbac.authorization.k8s.io": ofKind(roleStrategy),
  "rolebindings.rbac.authorization.k8s.io": ofKind(roleBindingStrategy),
  "clusterroles.rbac.authorization.k8s.io": ofKind(clusterRoleStrategy),
  "clusterrolebindings.rbac.authorization.k8s.io": ofKind(clusterRoleBindingStrategy),
  "priorityclasses.scheduling.k8s.io": ofKind(priorityClassStrategy),
  "storageclasses.storage.k8s.io": ofKind(storageClassStrategy),
};

export function strategyFor(resource: Resource): Strategy {
  const strategy = strategies[qualifiedName(resource)];
  if (!strategy) throw new Error(`${qualifiedName(resource)} has no strategy`);
  return strategy;
}

/** The handler gives a strategy objects of its own kind and no others. */
function ofKind<T extends KubeObject>(strategy: Strategy<T>): Strategy {
  return strategy as Strategy;
}
