import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Pod, Wire } from "../../../api/objects.ts";
import { badRequest, conflict, notFound } from "../../../api/status-error.ts";
import type { Binding, Reference } from "./claims.ts";

/** The objects that a token may be for or bound to, fresh enough that none is missed. */
export interface TokenObjects {
  serviceAccount(namespace: string, name: string): Promise<KubeObject | undefined>;
  pod(namespace: string, name: string): Promise<Pod | undefined>;
  secret(namespace: string, name: string): Promise<KubeObject | undefined>;
  node(name: string): Promise<KubeObject | undefined>;
}

type BoundReference = Wire<k8s.V1BoundObjectReference>;

/** The service account that a token is for. */
export interface TokenTarget {
  readonly namespace: string;
  readonly name: string;
}

/** Finds the object that a token shall live and die with. */
export async function bindToken(
  reference: BoundReference,
  target: TokenTarget,
  objects: TokenObjects,
): Promise<Binding> {
  const { apiVersion = "", kind = "", name = "" } = reference;
  switch (apiVersion.includes("/") ? "" : kind) {
    case "Pod": {
      const pod = existing("pods", reference, await objects.pod(target.namespace, name));
      checkServiceAccount(pod, target.name);
      const nodeName = pod.spec?.nodeName;
      // A node that does not exist is told by name alone.
      const node = nodeName && { name: nodeName, uid: (await objects.node(nodeName))?.metadata.uid };
      return { pod: checked(reference, pod), ...(node && { node }) };
    }
    case "Node":
      return { node: checked(reference, existing("nodes", reference, await objects.node(name))) };
    case "Secret": {
      const secret = existing("secrets", reference, await objects.secret(target.namespace, name));
      return { secret: checked(reference, secret) };
    }
    default: {
      const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
      throw badRequest(`cannot bind token to object of type ${version}, Kind=${kind}`);
    }
  }
}

function existing<T>(plural: string, { name = "" }: BoundReference, object: T | undefined): T {
  if (!object) throw notFound({ group: "", plural }, name);
  return object;
}

function checkServiceAccount(pod: Pod, account: string): void {
  if (pod.spec?.serviceAccountName === account) return;
  throw badRequest(
    `cannot bind token for serviceaccount ${JSON.stringify(account)} to pod running with different serviceaccount name.`,
  );
}

function checked({ kind = "", name = "", uid }: BoundReference, object: KubeObject): Reference {
  if (!uid || uid === object.metadata.uid) return { name, uid: object.metadata.uid };
  const detail = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: "", plural: kind }, name, detail);
}
