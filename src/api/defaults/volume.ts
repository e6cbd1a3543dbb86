import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";
import { defaultClaimSpec } from "./claim.ts";
import { defaultPullPolicy } from "./container.ts";

type Volume = Wire<k8s.V1Volume>;

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

/** What old volume plugins assume; persistent volumes have the same fields. */
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
