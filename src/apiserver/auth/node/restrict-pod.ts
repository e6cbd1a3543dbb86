import { isDeepStrictEqual } from "node:util";
import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Node, Pod, Wire } from "../../../api/meta/objects.ts";
import { notFound, type StatusError } from "../../../api/meta/status-error.ts";
import { isMirrorPod, mirrorAnnotation } from "../../../api/pod/pod-state.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { Authorize } from "../attributes.ts";
import { podReferences } from "./pod-references.ts";

/** Authorized write of a node, before it is stored. */
export interface NodeWrite {
  readonly user: UserInfo;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  /** Name in the URL, or that of the object on create. */
  readonly name: string;
  /** New object. Undefined on delete. */
  readonly object?: KubeObject;
  /** Stored object. Undefined on create. */
  readonly oldObject?: KubeObject;
}

export interface NodeRestrictionDeps {
  pod(namespace: string, name: string): Pod | undefined;
  node(name: string): Node | undefined;
  readonly authorize: Authorize;
}

/** Reason of a rejection, or the complete error. Undefined if the write is allowed. */
export type Rejection = string | StatusError | undefined;

/** Nodes may create mirror pods of their static pods, and delete pods that run on them. */
export function rejectPod(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Rejection {
  const who = `node ${JSON.stringify(nodeName)}`;
  switch (write.operation) {
    case "CREATE":
      return rejectMirrorPod(nodeName, write.object as Pod | undefined, deps);
    case "DELETE": {
      const pod = deps.pod(write.namespace, write.name);
      if (!pod) return notFound({ group: "", plural: "pods" }, write.name);
      return pod.spec?.nodeName === nodeName
        ? undefined
        : `${who} can only delete pods with spec.nodeName set to itself`;
    }
    default:
      return `unexpected operation "${write.operation}", ${who} can only create and delete mirror pods`;
  }
}

function rejectMirrorPod(nodeName: string, pod: Pod | undefined, deps: NodeRestrictionDeps): Rejection {
  const who = `node ${JSON.stringify(nodeName)}`;
  const { ownerReferences = [] } = pod?.metadata ?? {};
  if (!pod || !isMirrorPod(pod)) {
    return `pod does not have "${mirrorAnnotation}" annotation, ${who} can only create mirror pods`;
  }
  if (pod.spec?.nodeName !== nodeName) return `${who} can only create pods with spec.nodeName set to itself`;
  const [owner] = ownerReferences;
  if (ownerReferences.length > 1) {
    return `${who} can only create pods with a single owner reference set to itself`;
  }
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== nodeName) {
    return `${who} can only create pods with an owner reference set to itself`;
  }
  if (!owner.controller) return `${who} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion) return `${who} must not set blockOwnerDeletion on an owner reference`;
  const node = deps.node(nodeName);
  if (!node) return notFound({ group: "", plural: "nodes" }, nodeName);
  if (owner.uid !== node.metadata.uid) {
    return `node ${nodeName} UID mismatch: expected ${owner.uid} got ${node.metadata.uid}`;
  }
  return rejectApiReferences(nodeName, pod);
}

export function rejectPodStatus(nodeName: string, write: NodeWrite): Rejection {
  if (write.operation !== "UPDATE") return `unexpected operation "${write.operation}"`;
  const who = `node ${JSON.stringify(nodeName)}`;
  const pod = write.object as Pod | undefined;
  const oldPod = write.oldObject as Pod | undefined;
  if (oldPod?.spec?.nodeName !== nodeName) {
    return `${who} can only update pod status for pods with spec.nodeName set to itself`;
  }
  if (!isDeepStrictEqual(pod?.metadata.labels ?? {}, oldPod.metadata.labels ?? {})) {
    return `${who} cannot update labels through pod status`;
  }
  const claims = [pod, oldPod].map((each) => each?.status?.resourceClaimStatuses ?? []);
  if (!isDeepStrictEqual(claims[0], claims[1])) return `${who} cannot update resource claim statues`;
  const extended = [pod, oldPod].map((each) => each?.status?.extendedResourceClaimStatus);
  if (!isDeepStrictEqual(extended[0], extended[1])) {
    return `${who} cannot update extended resource claim status`;
  }
  return undefined;
}

export function rejectPodEviction(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Rejection {
  if (write.operation !== "CREATE") return `unexpected operation ${write.operation}`;
  const name = write.name || write.object?.metadata.name;
  if (!name) return "could not determine pod from request data";
  const pod = deps.pod(write.namespace, name);
  if (!pod) return notFound({ group: "", plural: "pods" }, name);
  return pod.spec?.nodeName === nodeName
    ? undefined
    : `node ${nodeName} can only evict pods with spec.nodeName set to itself`;
}

type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;

/** A node may report the capacity of a claim and the progress of its expansion. */
export function rejectClaimStatus(nodeName: string, write: NodeWrite): Rejection {
  if (write.operation !== "UPDATE") return `unexpected operation "${write.operation}"`;
  const rest = [write.object, write.oldObject].map((object) =>
    withoutNodeFields(object as Claim | undefined),
  );
  if (isDeepStrictEqual(rest[0], rest[1])) return undefined;
  return `node ${JSON.stringify(nodeName)} is not allowed to update fields other than status.quantity and status.conditions`;
}

function withoutNodeFields(claim: Claim | undefined): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...metadata } = claim?.metadata ?? {};
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...status
  } = claim?.status ?? {};
  return { ...claim, metadata, status };
}

type Volume = Wire<k8s.V1Volume>;

/** Volume types that reference no API objects. All others are rejected, including unknown ones. */
const volumesWithoutReferences = new Set(
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

/** Rejects mirror pods that reference API objects: the node would gain permission to read them. */
function rejectApiReferences(nodeName: string, pod: Pod): Rejection {
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
  const kinds = keysOf(sources).filter((kind) => !volumesWithoutReferences.has(kind));
  const projectedKinds = (projected?.sources ?? []).flatMap(keysOf).filter((kind) => kind !== "downwardAPI");
  return [
    ...kinds.map((kind) => volumeNeeds.get(kind) ?? unknown),
    ...projectedKinds.map((kind) => projectedNeeds.get(kind) ?? unknown),
  ];
}

function keysOf(sources: object): string[] {
  return Object.entries(sources).flatMap(([kind, source]) => (source ? kind : []));
}
