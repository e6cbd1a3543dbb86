import type * as k8s from "@kubernetes/client-node";
import type { Pod, Wire } from "../../../api/objects.ts";

type Volume = Wire<k8s.V1Volume>;
type AnyContainer = Pick<Wire<k8s.V1Container>, "env" | "envFrom">;

/** The objects in its own namespace that a pod needs, by name. */
export interface PodReferences {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
  readonly claims: readonly string[];
  readonly serviceAccount: string;
}

export function podReferences(pod: Pod): PodReferences {
  const { spec } = pod;
  const volumes = spec?.volumes ?? [];
  const containers: AnyContainer[] = [
    ...(spec?.initContainers ?? []),
    ...(spec?.containers ?? []),
    ...(spec?.ephemeralContainers ?? []),
  ];
  const projected = volumes.flatMap((volume) => volume.projected?.sources ?? []);
  const env = containers.flatMap((container) => container.env ?? []);
  const envFrom = containers.flatMap((container) => container.envFrom ?? []);
  return {
    secrets: names([
      ...(spec?.imagePullSecrets ?? []).map((reference) => reference.name),
      ...envFrom.map((source) => source.secretRef?.name),
      ...env.map((variable) => variable.valueFrom?.secretKeyRef?.name),
      ...volumes.map(volumeSecret),
      ...projected.map((source) => source.secret?.name),
    ]),
    configMaps: names([
      ...envFrom.map((source) => source.configMapRef?.name),
      ...env.map((variable) => variable.valueFrom?.configMapKeyRef?.name),
      ...volumes.map((volume) => volume.configMap?.name),
      ...projected.map((source) => source.configMap?.name),
    ]),
    claims: names(
      volumes.map((volume) =>
        volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : volume.persistentVolumeClaim?.claimName,
      ),
    ),
    serviceAccount: spec?.serviceAccountName ?? "",
  };
}

function volumeSecret(volume: Volume): string | undefined {
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi, secret } = volume;
  const withReference = cephfs ?? cinder ?? flexVolume ?? rbd ?? scaleIO ?? iscsi ?? storageos;
  return (
    secret?.secretName ??
    azureFile?.secretName ??
    csi?.nodePublishSecretRef?.name ??
    withReference?.secretRef?.name
  );
}

function names(list: readonly (string | undefined)[]): string[] {
  return [...new Set(list.flatMap((name) => name || []))];
}
