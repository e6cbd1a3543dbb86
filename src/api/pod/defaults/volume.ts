import type * as k8s from "@kubernetes/client-node";
import type { Volume, Wire } from "../../meta/objects.ts";
import { defaultPullPolicy, defaultResourceList, defaultResourceRequirements } from "./container.ts";

/** rw-r--r-- */
const defaultMode = 0o644;

export function defaultVolume(volume: Volume): void {
  if (!hasSource(volume)) volume.emptyDir = {};
  const { secret, configMap, downwardAPI, projected, hostPath, image, ephemeral } = volume;
  if (hostPath) hostPath.type ??= "";
  if (secret) secret.defaultMode ??= defaultMode;
  if (configMap) configMap.defaultMode ??= defaultMode;
  if (downwardAPI) {
    downwardAPI.defaultMode ??= defaultMode;
    defaultDownwardFiles(downwardAPI.items);
  }
  if (projected) defaultProjected(projected);
  if (image) image.pullPolicy ||= defaultPullPolicy(image.reference ?? "");
  if (ephemeral?.volumeClaimTemplate) defaultClaimSpec(ephemeral.volumeClaimTemplate.spec);
  defaultStorageSystem(volume);
}

function hasSource(volume: Volume): boolean {
  for (const field in volume) if (field !== "name") return true;
  return false;
}

function defaultProjected(projected: k8s.V1ProjectedVolumeSource): void {
  projected.defaultMode ??= defaultMode;
  for (const source of projected.sources ?? []) {
    defaultDownwardFiles(source.downwardAPI?.items);
    if (source.serviceAccountToken) source.serviceAccountToken.expirationSeconds ??= 3600;
  }
}

function defaultDownwardFiles(items: k8s.V1DownwardAPIVolumeFile[] | undefined): void {
  for (const { fieldRef, resourceFieldRef } of items ?? []) {
    if (fieldRef) fieldRef.apiVersion ||= "v1";
    if (resourceFieldRef) resourceFieldRef.divisor ??= "0";
  }
}

/** Sets the defaults of storage systems, for volumes of pods and persistent volumes. */
export function defaultStorageSystem(
  source: Pick<Wire<k8s.V1PersistentVolumeSpec>, "iscsi" | "rbd" | "azureDisk" | "scaleIO">,
): void {
  const { iscsi, rbd, azureDisk, scaleIO } = source;
  if (iscsi) iscsi.iscsiInterface ||= "default";
  if (rbd) {
    rbd.pool ||= "rbd";
    rbd.user ||= "admin";
    rbd.keyring ||= "/etc/ceph/keyring";
  }
  if (azureDisk) {
    azureDisk.cachingMode ??= "ReadWrite";
    azureDisk.fsType ??= "ext4";
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= "Shared";
  }
  if (scaleIO) {
    scaleIO.storageMode ||= "ThinProvisioned";
    scaleIO.fsType ||= "xfs";
  }
}

function defaultClaimSpec(spec: Wire<k8s.V1PersistentVolumeClaimSpec>): void {
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
