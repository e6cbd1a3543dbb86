import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";
import { defaultResourceList } from "./resource-list.ts";
import { defaultStorageSystem } from "./volume.ts";

export function defaultPersistentVolume(volume: Wire<k8s.V1PersistentVolume>): void {
  volume.spec ??= {};
  volume.spec.persistentVolumeReclaimPolicy ||= "Retain";
  volume.spec.volumeMode ??= "Filesystem";
  defaultResourceList(volume.spec.capacity);
  defaultStorageSystem(volume.spec);
  if (volume.spec.hostPath) volume.spec.hostPath.type ??= "";
  volume.status ??= {};
  volume.status.phase ||= "Pending";
}
