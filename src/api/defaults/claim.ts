import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";
import { defaultResourceList, defaultResourceRequirements } from "./resource-list.ts";

export function defaultClaimSpec(spec: Wire<k8s.V1PersistentVolumeClaimSpec>): void {
  spec.volumeMode ??= "Filesystem";
  spec.resources ??= {};
  defaultResourceRequirements(spec.resources);
}

export function defaultClaim(claim: Wire<k8s.V1PersistentVolumeClaim>): void {
  claim.spec ??= {};
  defaultClaimSpec(claim.spec);
  claim.status ??= {};
  claim.status.phase ||= "Pending";
  defaultResourceList(claim.status.capacity);
  defaultResourceList(claim.status.allocatedResources);
}
