import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../../api/objects.ts";

export type PersistentVolume = KubeObject & Wire<k8s.V1PersistentVolume>;

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** The secrets of a volume that a kubelet needs to mount it. Those for controllers are none of its business. */
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
