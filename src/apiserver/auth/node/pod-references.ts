import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Pod, Wire } from "../../../api/meta/objects.ts";

type Volume = Wire<k8s.V1Volume>;
type AnyContainer = Pick<Wire<k8s.V1Container>, "env" | "envFrom">;

/** Names of the objects in its namespace that a pod references. */
interface PodReferences {
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

export type PersistentVolume = KubeObject & Wire<k8s.V1PersistentVolume>;

interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** Secrets that a kubelet needs to mount the volume, without those for controllers. */
export function volumeSecrets({ spec }: PersistentVolume): SecretReference[] {
  const { azureFile, cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos, csi } = spec ?? {};
  const claimNamespace = spec?.claimRef?.namespace ?? "";
  const inClaimNamespace = [cephfs, flexVolume, rbd, scaleIO, iscsi].map((source) => source?.secretRef);
  const elsewhere = [
    cinder?.secretRef,
    storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ];
  return [
    { name: azureFile?.secretName, namespace: azureFile?.secretNamespace || claimNamespace },
    ...inClaimNamespace.map((reference) => ({
      name: reference?.name,
      namespace: reference?.namespace || claimNamespace,
    })),
    ...elsewhere.map((reference) => ({ name: reference?.name, namespace: reference?.namespace ?? "" })),
  ].flatMap(({ name, namespace }) => (name ? { name, namespace } : []));
}
