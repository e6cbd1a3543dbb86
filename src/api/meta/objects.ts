import type * as k8s from "@kubernetes/client-node";

/**
 * Type of the client package in its JSON form, in which times are strings and names that are reserved words in some
 * languages have no underscore (`_from`).
 */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer U)[]
    ? Wire<U>[]
    : T extends object
      ? { [K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]> }
      : T;

export type ObjectMeta = Wire<k8s.V1ObjectMeta>;
export type OwnerReference = Wire<k8s.V1OwnerReference>;

/** Fields that all Kubernetes objects have. */
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
export type MutatingWebhookConfiguration = KubeObject & Wire<k8s.V1MutatingWebhookConfiguration>;
export type Namespace = KubeObject & Wire<k8s.V1Namespace>;
export type StatefulSet = KubeObject & Wire<k8s.V1StatefulSet>;

export type ClusterRole = KubeObject & Wire<k8s.V1ClusterRole>;
export type ClusterRoleBinding = KubeObject & Wire<k8s.V1ClusterRoleBinding>;
export type ConfigMap = KubeObject & Wire<k8s.V1ConfigMap>;
export type ContainerStatus = Wire<k8s.V1ContainerStatus>;
export type ControllerRevision = KubeObject & Wire<k8s.V1ControllerRevision>;
export type CronJob = KubeObject & Wire<k8s.V1CronJob>;
export type DaemonSet = KubeObject & Wire<k8s.V1DaemonSet>;
export type Deployment = KubeObject & Wire<k8s.V1Deployment>;
export type Endpoints = KubeObject & Wire<k8s.V1Endpoints>;
export type EndpointSlice = KubeObject & Wire<k8s.V1EndpointSlice>;
export type Event = KubeObject & Wire<k8s.CoreV1Event>;
export type Ingress = KubeObject & Wire<k8s.V1Ingress>;
export type IngressClass = KubeObject & Wire<k8s.V1IngressClass>;
export type Job = KubeObject & Wire<k8s.V1Job>;
export type JobSpec = Wire<k8s.V1JobSpec>;
export type LabelSelector = Wire<k8s.V1LabelSelector>;
export type Lease = KubeObject & Wire<k8s.V1Lease>;
export type LimitRange = KubeObject & Wire<k8s.V1LimitRange>;
export type LimitRangeItem = Wire<k8s.V1LimitRangeItem>;
export type NetworkPolicy = KubeObject & Wire<k8s.V1NetworkPolicy>;
export type PersistentVolume = KubeObject & Wire<k8s.V1PersistentVolume>;
export type PersistentVolumeClaim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;
export type PodDisruptionBudget = KubeObject & Wire<k8s.V1PodDisruptionBudget>;
export type PriorityClass = KubeObject & Wire<k8s.V1PriorityClass>;
export type ReplicaSet = KubeObject & Wire<k8s.V1ReplicaSet>;
export type ResourceQuota = KubeObject & Wire<k8s.V1ResourceQuota>;
export type Role = KubeObject & Wire<k8s.V1Role>;
export type RoleBinding = KubeObject & Wire<k8s.V1RoleBinding>;
export type RuntimeClass = KubeObject & Wire<k8s.V1RuntimeClass>;
export type Scale = KubeObject & Wire<k8s.V1Scale>;
export type Secret = KubeObject & Wire<k8s.V1Secret>;
export type Service = KubeObject & Wire<k8s.V1Service>;
export type StorageClass = KubeObject & Wire<k8s.V1StorageClass>;

export type DeleteOptions = Wire<k8s.V1DeleteOptions>;
export type PodCondition = Wire<k8s.V1PodCondition>;
export type PodStatus = Wire<k8s.V1PodStatus>;
export type ServiceAccount = KubeObject & Wire<k8s.V1ServiceAccount>;
export type ValidatingWebhookConfiguration = KubeObject & Wire<k8s.V1ValidatingWebhookConfiguration>;
export type Volume = Wire<k8s.V1Volume>;
export type LifecycleHandler = Wire<k8s.V1LifecycleHandler>;
export type HttpGetAction = Wire<k8s.V1HTTPGetAction>;
export type NodeCondition = Wire<k8s.V1NodeCondition>;
export type NodeStatus = Wire<k8s.V1NodeStatus>;
