import { mutatingWebhookConfigurationKind } from "./admissionregistration/mutating-webhook-configuration/kind.ts";
import { validatingWebhookConfigurationKind } from "./admissionregistration/validating-webhook-configuration/kind.ts";
import { customResourceDefinitionKind } from "./apiextensions/custom-resource-definition/kind.ts";
import { controllerRevisionKind } from "./apps/controller-revision/kind.ts";
import { daemonSetKind } from "./apps/daemon-set/kind.ts";
import { deploymentKind } from "./apps/deployment/kind.ts";
import { replicaSetKind } from "./apps/replica-set/kind.ts";
import { statefulSetKind } from "./apps/stateful-set/kind.ts";
import { cronJobKind } from "./batch/cron-job/kind.ts";
import { jobKind } from "./batch/job/kind.ts";
import { leaseKind } from "./coordination/lease/kind.ts";
import { configMapKind } from "./core/config-map/kind.ts";
import { endpointsKind } from "./core/endpoints/kind.ts";
import { eventKind, newEventKind } from "./core/event/kind.ts";
import { limitRangeKind } from "./core/limit-range/kind.ts";
import { namespaceKind } from "./core/namespace/kind.ts";
import { nodeKind } from "./core/node/kind.ts";
import { persistentVolumeKind } from "./core/persistent-volume/kind.ts";
import { persistentVolumeClaimKind } from "./core/persistent-volume-claim/kind.ts";
import { podKind } from "./core/pod/kind.ts";
import { resourceQuotaKind } from "./core/resource-quota/kind.ts";
import { secretKind } from "./core/secret/kind.ts";
import { serviceKind } from "./core/service/kind.ts";
import { serviceAccountKind } from "./core/service-account/kind.ts";
import { endpointSliceKind } from "./discovery/endpoint-slice/kind.ts";
import type { KindDefinition } from "./kind-definition.ts";
import { ingressKind } from "./networking/ingress/kind.ts";
import { ingressClassKind } from "./networking/ingress-class/kind.ts";
import { networkPolicyKind } from "./networking/network-policy/kind.ts";
import { runtimeClassKind } from "./node/runtime-class/kind.ts";
import { podDisruptionBudgetKind } from "./policy/pod-disruption-budget/kind.ts";
import { clusterRoleKind } from "./rbac/cluster-role/kind.ts";
import { clusterRoleBindingKind } from "./rbac/cluster-role-binding/kind.ts";
import { roleKind } from "./rbac/role/kind.ts";
import { roleBindingKind } from "./rbac/role-binding/kind.ts";
import { priorityClassKind } from "./scheduling/priority-class/kind.ts";
import { storageClassKind } from "./storage/storage-class/kind.ts";

/**
 * The kinds that every cluster serves. Import this list only where a KindRegistry is created, in the typed client and
 * in generators; everything else is given the registry.
 */
export const builtInKinds: readonly KindDefinition[] = [
  namespaceKind,
  podKind,
  nodeKind,
  eventKind,
  configMapKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  endpointsKind,
  persistentVolumeKind,
  persistentVolumeClaimKind,
  limitRangeKind,
  resourceQuotaKind,
  statefulSetKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  controllerRevisionKind,
  jobKind,
  cronJobKind,
  leaseKind,
  endpointSliceKind,
  newEventKind,
  ingressKind,
  ingressClassKind,
  networkPolicyKind,
  runtimeClassKind,
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
  podDisruptionBudgetKind,
  roleKind,
  roleBindingKind,
  clusterRoleKind,
  clusterRoleBindingKind,
  priorityClassKind,
  storageClassKind,
  customResourceDefinitionKind,
];
