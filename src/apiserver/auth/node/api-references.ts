import type * as k8s from "@kubernetes/client-node";
import type { Pod, Wire } from "../../../api/objects.ts";
import type { Refusal } from "./node-write.ts";
import { podReferences } from "./pod-references.ts";

type Volume = Wire<k8s.V1Volume>;

/** Kinds of volumes that need nothing from the API; any other is refused, also one that is not known yet. */
const harmlessVolumes = new Set(
  `awsElasticBlockStore azureDisk cephfs cinder downwardAPI emptyDir fc flexVolume flocker gcePersistentDisk gitRepo
  hostPath image iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume`.split(
    /\s+/,
  ),
);

const volumeNeeds = new Map(
  Object.entries({
    configMap: "configmaps (via configmap volumes)",
    secret: "secrets (via secret volumes)",
    csi: "csidrivers (via CSI volumes)",
    glusterfs: "endpoints (via glusterFS volumes)",
    persistentVolumeClaim: "persistentvolumeclaims",
    ephemeral: "persistentvolumeclaims (via ephemeral volumes)",
    azureFile: "secrets (via azureFile volumes)",
  }),
);

const projectedNeeds = new Map(
  Object.entries({
    configMap: "configmaps (via projected volumes)",
    secret: "secrets (via projected volumes)",
    serviceAccountToken: "serviceaccounts (via projected volumes)",
    clusterTrustBundle: "clustertrustbundles",
    podCertificate: "podcertificates",
  }),
);

/** A pod that a node makes must not refer to other objects: the node would come by the right to read them. */
export function refuseApiReferences(nodeName: string, pod: Pod): Refusal {
  const { serviceAccount, secrets, configMaps } = podReferences(pod);
  const needs = [
    ...(serviceAccount ? ["serviceaccounts"] : []),
    ...secrets.map(() => "secrets"),
    ...configMaps.map(() => "configmaps"),
    ...(pod.spec?.resourceClaims ?? []).map(() => "resourceclaims"),
    ...(pod.spec?.volumes ?? []).flatMap(needsOfVolume),
  ];
  if (needs.includes(unknown)) return "error checking mirror pod for API references: unknown volume type";
  return needs[0] && `node ${JSON.stringify(nodeName)} can not create pods that reference ${needs[0]}`;
}

const unknown = "";

function needsOfVolume({ name: _, projected, ...sources }: Volume): string[] {
  const kinds = keysOf(sources).filter((kind) => !harmlessVolumes.has(kind));
  const projectedKinds = (projected?.sources ?? []).flatMap(keysOf).filter((kind) => kind !== "downwardAPI");
  return [
    ...kinds.map((kind) => volumeNeeds.get(kind) ?? unknown),
    ...projectedKinds.map((kind) => projectedNeeds.get(kind) ?? unknown),
  ];
}

function keysOf(sources: object): string[] {
  return Object.entries(sources).flatMap(([kind, source]) => (source ? kind : []));
}
