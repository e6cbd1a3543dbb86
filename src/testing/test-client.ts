import type { KubeObject, ObjectMeta } from "../api/objects.ts";
import type { ObjectKey, ObjectTypes, ResourceName } from "../client/client.ts";
import type { Explanation } from "../monitor/explain/explanation.ts";
import type { Duration } from "./duration.ts";

/** Which object: its name in the namespace `default`, its key, or an object itself. */
export type ObjectRef =
  | string
  | ObjectKey
  | { readonly metadata: { readonly namespace?: string; readonly name?: string } };

/** An object as it is given to `create`: what its resource says already may be left out. */
export type NewObject<Name extends ResourceName> = Omit<
  ObjectTypes[Name],
  "apiVersion" | "kind" | "metadata"
> & {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
};

export interface ListSelection {
  /** All of them unless told. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface PatchOptions {
  /** `strategic` unless told, as with kubectl. */
  readonly type?: "strategic" | "merge" | "json";
  readonly subresource?: string;
}

interface DeletionOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
}

interface WaitOptions {
  /** In real time, whatever the cluster's clock says; 30 s unless told. */
  readonly timeout?: Duration;
}

interface ObjectChange<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

/** The cluster's API as its administrator. What it refuses is a StatusError with Kubernetes' `code` and `reason`. */
export interface TestClient {
  create<Name extends ResourceName>(resource: Name, object: NewObject<Name>): Promise<ObjectTypes[Name]>;
  get<Name extends ResourceName>(resource: Name, ref: ObjectRef): Promise<ObjectTypes[Name]>;
  list<Name extends ResourceName>(
    resource: Name,
    selection?: ListSelection,
  ): Promise<readonly ObjectTypes[Name][]>;
  update<Name extends ResourceName>(
    resource: Name,
    object: ObjectTypes[Name],
    options?: { readonly subresource?: string },
  ): Promise<ObjectTypes[Name]>;
  patch<Name extends ResourceName>(
    resource: Name,
    ref: ObjectRef,
    body: unknown,
    options?: PatchOptions,
  ): Promise<ObjectTypes[Name]>;
  delete<Name extends ResourceName>(resource: Name, ref: ObjectRef, options?: DeletionOptions): Promise<void>;
  /** What is there, as `ADDED`, then every change; until the loop is left or the signal aborts. */
  watch<Name extends ResourceName>(
    resource: Name,
    selection?: ListSelection & { readonly signal?: AbortSignal },
  ): AsyncIterable<ObjectChange<ObjectTypes[Name]>>;
  /**
   * Creates what a manifest holds, in its order, and patches what is there already: YAML or JSON text with one or more
   * documents, or objects. Fields that a manifest leaves out stay as they are.
   */
  apply(manifest: string | object | readonly object[]): Promise<readonly KubeObject[]>;
  /**
   * Waits until an object, which may be yet to come, is as asked: by a condition (`Ready`, `Ready=False`) or by a
   * function. Too late, it throws a WaitTimeoutError that says what the object waits for, and what would help.
   */
  waitFor<Name extends ResourceName>(
    resource: Name,
    ref: ObjectRef,
    until: string | ((object: ObjectTypes[Name]) => boolean),
    options?: WaitOptions,
  ): Promise<ObjectTypes[Name]>;
  waitUntilGone<Name extends ResourceName>(
    resource: Name,
    ref: ObjectRef,
    options?: WaitOptions,
  ): Promise<void>;
  /** What `kindling why` says of a pod. */
  why(pod: ObjectRef): Promise<Explanation>;
  /** Any other call: `request("GET", "/version")`. */
  request<T = unknown>(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T>;
}
