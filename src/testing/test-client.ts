import type { KubeObject, ObjectMeta } from "../api/meta/objects.ts";
import type { ObjectKey, ObjectTypes, ResourceName } from "../client/api/client.ts";
import type { Explanation } from "../explain/explanation.ts";
import { parseGoDuration } from "../lib/go-duration.ts";

/** Reference to an object: its name in the namespace `default`, its key, or the object itself. */
export type ObjectRef =
  | string
  | ObjectKey
  | { readonly metadata: { readonly namespace?: string; readonly name?: string } };

/** Object for `create`. apiVersion and kind default to those of the resource. */
export type NewObject<Name extends ResourceName> = Omit<
  ObjectTypes[Name],
  "apiVersion" | "kind" | "metadata"
> & {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
};

export interface ListSelection {
  /** Defaults to all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface PatchOptions {
  /** Defaults to `strategic`, as kubectl. */
  readonly type?: "strategic" | "merge" | "json";
  readonly subresource?: string;
}

interface DeletionOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
}

interface WaitOptions {
  /** Timeout in real time, independent of the cluster's clock. Defaults to 30 s. */
  readonly timeout?: Duration;
}

interface ObjectChange<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

/** Client of the cluster's API, as its administrator. Rejects with a StatusError that has Kubernetes' `code` and `reason`. */
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
  /** Yields existing objects as `ADDED`, then every change, until the loop ends or the signal aborts. */
  watch<Name extends ResourceName>(
    resource: Name,
    selection?: ListSelection & { readonly signal?: AbortSignal },
  ): AsyncIterable<ObjectChange<ObjectTypes[Name]>>;
  /**
   * Creates the objects of a manifest in order, and patches existing ones. A manifest is YAML or JSON text with one or
   * more documents, or objects. Omitted fields stay unchanged.
   */
  apply(manifest: string | object | readonly object[]): Promise<readonly KubeObject[]>;
  /**
   * Waits until an object, which may not exist yet, has a condition (`Ready`, `Ready=False`) or satisfies a function.
   * Rejects after the timeout with a WaitTimeoutError that says what the object waits for, and how to fix it.
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
  /** Explains a pod like `kindling why`. */
  why(pod: ObjectRef): Promise<Explanation>;
  /** Any other call: `request("GET", "/version")`. */
  request<T = unknown>(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T>;
}

/** Milliseconds, or text in Go's format: `500ms`, `30s`, `1h30m`. */
export type Duration = number | string;

/** Converts a duration to milliseconds. Throws a TypeError that names the option if it is invalid. */
export function toMs(duration: Duration, name: string): number {
  const ms = typeof duration === "number" ? duration : parseGoDuration(duration);
  if (ms !== undefined && ms >= 0) return ms;
  const given = typeof duration === "string" ? JSON.stringify(duration) : duration;
  throw new TypeError(
    `${name}: ${given} is not a duration; use milliseconds, or text like "500ms", "30s", "1h30m"`,
  );
}
