import type * as objects from "../../api/meta/objects.ts";

/** Object types by the plural resource name in their URL. */
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
  resourcequotas: objects.ResourceQuota;
  limitranges: objects.LimitRange;
  networkpolicies: objects.NetworkPolicy;
  runtimeclasses: objects.RuntimeClass;
  priorityclasses: objects.PriorityClass;
  leases: objects.Lease;
  statefulsets: objects.StatefulSet;
  daemonsets: objects.DaemonSet;
  controllerrevisions: objects.ControllerRevision;
  deployments: objects.Deployment;
  replicasets: objects.ReplicaSet;
  jobs: objects.Job;
  cronjobs: objects.CronJob;
  poddisruptionbudgets: objects.PodDisruptionBudget;
  roles: objects.Role;
  rolebindings: objects.RoleBinding;
  clusterroles: objects.ClusterRole;
  clusterrolebindings: objects.ClusterRoleBinding;
}

export type ResourceName = keyof ObjectTypes;

export interface ObjectKey {
  /** Omitted for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

export interface Selection extends CallOptions {
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends Selection {
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  /** Interpretation of `resourceVersion` together with `limit`. Default: exactly that version. */
  readonly resourceVersionMatch?: "NotOlderThan";
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  /** Requested duration of the watch. */
  readonly timeoutSeconds?: number;
  /** Called once the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
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

interface PatchOptions extends CallOptions {
  readonly patch: Patch;
  readonly subresource?: string;
  /** Validates the change and returns its result, without storing it. */
  readonly dryRun?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** Identifies a resource that the typed client does not know: that of a CustomResourceDefinition, for example. */
interface ResourceId {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The verbs of one resource. They behave as the methods of Client with the same names. */
export interface ResourceClient<T extends objects.KubeObject> {
  get(key: ObjectKey, options?: CallOptions): Promise<T>;
  list(options?: ListOptions): Promise<ObjectList<T>>;
  watch(options: WatchOptions): AsyncIterable<WatchEvent<T>>;
  create(object: T, options?: CallOptions): Promise<T>;
  update(object: T, options?: CallOptions & { readonly subresource?: string }): Promise<T>;
  patch(key: ObjectKey, options: PatchOptions): Promise<T>;
  delete(key: ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteCollection(options: Selection & Pick<DeleteOptions, "propagationPolicy">): Promise<void>;
}

/**
 * Client of a Kubernetes API server. Rejected requests throw a StatusError, connection failures a TransportError.
 * Returned objects must not be modified.
 */
export interface Client {
  get<Name extends ResourceName>(
    resource: Name,
    key: ObjectKey,
    options?: CallOptions,
  ): Promise<ObjectTypes[Name]>;
  /** Fetches one page. */
  list<Name extends ResourceName>(
    resource: Name,
    options?: ListOptions,
  ): Promise<ObjectList<ObjectTypes[Name]>>;
  /** Streams changes after a revision. Throws `Expired` (410) when it was compacted; ends when the server closes the watch. */
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
    options: PatchOptions,
  ): Promise<ObjectTypes[Name]>;
  delete<Name extends ResourceName>(resource: Name, key: ObjectKey, options?: DeleteOptions): Promise<void>;
  deleteCollection<Name extends ResourceName>(
    resource: Name,
    options: Selection & Pick<DeleteOptions, "propagationPolicy">,
  ): Promise<void>;
  /** Verbs of any resource, including those that are not built in. */
  resource<T extends objects.KubeObject = objects.KubeObject>(id: ResourceId): ResourceClient<T>;
  /** Sends a request for an API without the usual verbs: reviews, tokens, bindings, evictions, discovery. */
  request<T>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    options?: CallOptions & { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<T>;
  /** Reads a response that is plain text: the log of a container. */
  readText(path: string, options?: CallOptions): Promise<string>;
  close(): void;
}
