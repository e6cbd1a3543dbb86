import { isDeepStrictEqual } from "node:util";
import type * as k8s from "@kubernetes/client-node";
import { isMirrorPod, mirrorAnnotation } from "../../../api/mirror-pod.ts";
import type { KubeObject, Pod, Wire } from "../../../api/objects.ts";
import { notFound } from "../../../api/status-error.ts";
import { refuseApiReferences } from "./api-references.ts";
import type { NodeRestrictionDeps, NodeWrite, Refusal } from "./node-write.ts";

/** Nodes create mirror pods of their static pods, and delete pods that run on them. */
export function refusePod(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Refusal {
  const who = `node ${JSON.stringify(nodeName)}`;
  switch (write.operation) {
    case "CREATE":
      return refuseMirrorPod(nodeName, write.object as Pod | undefined, deps);
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

function refuseMirrorPod(nodeName: string, pod: Pod | undefined, deps: NodeRestrictionDeps): Refusal {
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
  return refuseApiReferences(nodeName, pod);
}

export function refusePodStatus(nodeName: string, write: NodeWrite): Refusal {
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

export function refusePodEviction(nodeName: string, write: NodeWrite, deps: NodeRestrictionDeps): Refusal {
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

/** Of a claim a node may tell how large it is now, and how growing it goes. */
export function refuseClaimStatus(nodeName: string, write: NodeWrite): Refusal {
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
