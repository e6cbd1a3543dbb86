import type * as k8s from "@kubernetes/client-node";

/** A client type as it is on the wire: times are strings there. */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer U)[]
    ? Wire<U>[]
    : T extends object
      ? { [K in keyof T]: Wire<T[K]> }
      : T;

export type ObjectMeta = Wire<k8s.V1ObjectMeta>;
export type OwnerReference = Wire<k8s.V1OwnerReference>;

/** Any Kubernetes object, as far as all of them are alike. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

export type Pod = KubeObject & Wire<k8s.V1Pod>;
export type PodSpec = Wire<k8s.V1PodSpec>;
export type Container = Wire<k8s.V1Container>;
export type Probe = Wire<k8s.V1Probe>;
export type Node = KubeObject & Wire<k8s.V1Node>;
export type Namespace = KubeObject & Wire<k8s.V1Namespace>;
export type StatefulSet = KubeObject & Wire<k8s.V1StatefulSet>;

export type DeleteOptions = Wire<k8s.V1DeleteOptions>;
