import type * as k8s from "@kubernetes/client-node";
import type { StatefulSet, Wire } from "../objects.ts";
import { defaultClaim } from "./claim.ts";
import { defaultPodTemplate } from "./pod-template.ts";

export function defaultStatefulSet({ spec }: StatefulSet): void {
  if (!spec) return;
  spec.serviceName ??= "";
  spec.podManagementPolicy ||= "OrderedReady";
  spec.updateStrategy ??= {};
  if (!spec.updateStrategy.type) {
    spec.updateStrategy.type = "RollingUpdate";
    spec.updateStrategy.rollingUpdate ??= {};
  }
  // EnforcedRollingUpdate rolls as RollingUpdate does, by the same knobs.
  if (isRolling(spec.updateStrategy.type) && spec.updateStrategy.rollingUpdate) {
    spec.updateStrategy.rollingUpdate.partition ??= 0;
  }
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= "Retain";
  spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  defaultPodTemplate(spec.template);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion ??= "v1";
    claim.kind ??= "PersistentVolumeClaim";
    defaultClaim(claim);
  }
}

function isRolling(type: string): boolean {
  return type === "RollingUpdate" || type === "EnforcedRollingUpdate";
}

export function defaultDeployment({ spec }: Wire<k8s.V1Deployment>): void {
  if (!spec) return;
  spec.replicas ??= 1;
  spec.strategy ??= {};
  spec.strategy.type ||= "RollingUpdate";
  if (spec.strategy.type === "RollingUpdate") {
    spec.strategy.rollingUpdate ??= {};
    spec.strategy.rollingUpdate.maxUnavailable ??= "25%";
    spec.strategy.rollingUpdate.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  defaultPodTemplate(spec.template);
}

export function defaultReplicaSet({ spec }: Wire<k8s.V1ReplicaSet>): void {
  if (!spec) return;
  spec.replicas ??= 1;
  defaultPodTemplate(spec.template);
}
