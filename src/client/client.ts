import type * as objects from "../api/objects.ts";

/** What each resource holds, by the plural in its URL. */
export interface ObjectTypes {
  namespaces: objects.Namespace;
  pods: objects.Pod;
  nodes: objects.Node;
  events: objects.Event;
  configmaps: objects.ConfigMap;
  secrets: objects.Secret;
  serviceaccounts: objects.ServiceAccount;
  services: objects.Service;
  endpoints: objects.Endpoints;
  endpointslices: objects.EndpointSlice;
  persistentvolumes: objects.PersistentVolume;
  persistentvolumeclaims: objects.PersistentVolumeClaim;
  storageclasses: objects.StorageClass;
  runtimeclasses: objects.RuntimeClass;
  priorityclasses: objects.PriorityClass;
  leases: objects.Lease;
  statefulsets: objects.StatefulSet;
  controllerrevisions: objects.ControllerRevision;
  deployments: objects.Deployment;
  replicasets: objects.ReplicaSet;
  poddisruptionbudgets: objects.PodDisruptionBudget;
  roles: objects.Role;
  rolebindings: objects.RoleBinding;
  clusterroles: objects.ClusterRole;
  clusterrolebindings: objects.ClusterRoleBinding;
}

export type ResourceName = keyof ObjectTypes;

export interface ObjectKey {
  /** Left out for what has no namespace. */
  readonly namespace?: string;
  readonly name: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface Selection extends CallOptions {
  /** All of them unless told. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends Selection {
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  /** What a `resourceVersion` with a `limit` means: without this, exactly that one. */
  readonly resourceVersionMatch?: "NotOlderThan";
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  /** How long the server should keep it open. */
  readonly timeoutSeconds?: number;
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  readonly continue?: string;
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export type Patch =
  | { readonly kind: "merge"; readonly body: unknown }
  | { readonly kind: "strategic"; readonly body: unknown }
  | { readonly kind: "json"; readonly body: readonly unknown[] };

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * A Kubernetes API server, ours or upstream's. What it refuses is a StatusError; what keeps it from being reached is a
 * TransportError. Objects that come out are read-only to whoever gets them.
 */
export interface Client {
  get<Name extends ResourceName>(
    resource: Name,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<ObjectTypes[Name]>;
  /** One page. */
  list<Name extends ResourceName>(
    resource: Name,
    options?: ListOptions,
  ): Promise<ObjectList<ObjectTypes[Name]>>;
  /** Changes after a revision. Throws `expired` (410) when that is forgotten; ends when the server ends it. */
  watch<Name extends ResourceName>(
    resource: Name,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<ObjectTypes[Name]>>;
  create<Name extends ResourceName>(
    resource: Name,
    object: ObjectTypes[Name],
    options?: CallOptions,
  ): Promise<ObjectTypes[Name]>;
  update<Name extends ResourceName>(
    resource: Name,
    object: ObjectTypes[Name],
    options?: CallOptions & { readonly subresource?: string },
  ): Promise<ObjectTypes[Name]>;
  patch<Name extends ResourceName>(
    resource: Name,
    key: ObjectKey,
    options: CallOptions & { readonly patch: Patch; readonly subresource?: string },
  ): Promise<ObjectTypes[Name]>;
  delete<Name extends ResourceName>(resource: Name, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteCollection<Name extends ResourceName>(
    resource: Name,
    options: Selection & Pick<DeleteOptions, "propagationPolicy">,
  ): Promise<void>;
  /** What is not an object with the usual verbs: reviews, tokens, bindings, evictions, discovery. */
  request<T>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    options?: CallOptions & { readonly body?: unknown },
  ): Promise<T>;
  close(): void;
}
