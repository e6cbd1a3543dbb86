import type { KubeObject } from "../../api/meta/objects.ts";
import { apiVersionOf } from "../../api/meta/resource.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { loadInClusterAccess, loadKubeconfig } from "../kubeconfig/cluster-access.ts";
import { createHttpTransport } from "../transport/http-transport.ts";
import { readStatusError } from "../transport/status-errors.ts";
import { type Transport, TransportError, type TransportResponse } from "../transport/transport.ts";
import type {
  CallOptions,
  Client,
  DeleteOptions,
  ObjectList,
  ObjectTypes,
  Patch,
  ResourceClient,
  ResourceName,
  WatchEvent,
} from "./client.ts";
import {
  collectionOf,
  collectionPath,
  formatQuery,
  objectPath,
  type ResourceAddress,
  resourceNamed,
} from "./resource-path.ts";
import { readJsonLines, readList } from "./stream-json.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /** User-Agent header. */
  readonly userAgent?: string;
  readonly clock?: Clock;
}

/** Connects with the current context of a kubeconfig; without one, with the service account of the current pod. */
export async function connectCluster(options: {
  readonly kubeconfig?: string;
  readonly userAgent?: string;
  readonly maxConnections?: number;
}): Promise<Client> {
  const { kubeconfig, userAgent, maxConnections } = options;
  const access = await (kubeconfig === undefined ? loadInClusterAccess() : loadKubeconfig(kubeconfig));
  return createClient({ transport: createHttpTransport({ access, maxConnections }), userAgent });
}

interface Request extends CallOptions {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly longLived?: boolean;
}

const patchTypes: Readonly<Record<Patch["kind"], string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
};

/** Maximum number of retries of a request that the server rejects with a Retry-After header. */
const maxThrottleRetries = 5;

export function createClient({
  transport,
  userAgent = "kindling",
  clock = systemClock,
}: ClientOptions): Client {
  async function send(request: Request): Promise<TransportResponse> {
    const { method, path, signal, longLived, body, contentType = "application/json" } = request;
    const headers: Record<string, string> = {
      ...request.headers,
      accept: "application/json",
      "user-agent": userAgent,
    };
    if (body !== undefined) headers["content-type"] = contentType;
    const text = body === undefined ? undefined : JSON.stringify(body);
    for (let attempt = 0; ; attempt++) {
      const response = await transport.send({ method, path, headers, body: text, signal, longLived });
      if (response.status >= 200 && response.status < 300) return response;
      const error = await readError(response, `${method} ${path}`);
      const waitMs = retryAfterMs(response);
      if (waitMs === undefined || attempt === maxThrottleRetries) throw error;
      await clock.sleep(waitMs, signal);
    }
  }

  async function call<T>(request: Request): Promise<T> {
    return parseBody<T>(await (await send(request)).text(), `${request.method} ${request.path}`);
  }

  function clientOf<T extends KubeObject>(resource: ResourceAddress): ResourceClient<T> {
    return {
      get: async (key, options) => call({ method: "GET", path: objectPath(resource, key), ...options }),

      async list({ namespace, signal, ...parameters } = {}) {
        const path = collectionPath(resource, namespace) + formatQuery({ ...parameters });
        const response = await send({ method: "GET", path, signal });
        return readObjectList<T>(resource, await readList(response.chunks()));
      },

      async *watch({ namespace, signal, onOpen, ...parameters }) {
        const query = formatQuery({ watch: "true", allowWatchBookmarks: "true", ...parameters });
        const path = collectionPath(resource, namespace) + query;
        const response = await send({ method: "GET", path, signal, longLived: true });
        onOpen?.();
        for await (const line of readJsonLines(response.chunks())) {
          const event = readWatchEvent<T>(line);
          if (event) yield event;
        }
      },

      async create(object, options) {
        const path = collectionOf(resource, object.metadata.namespace);
        return call({ method: "POST", path, body: typed(resource, object), ...options });
      },

      async update(object, { subresource, ...options } = {}) {
        const path = objectPath(resource, { ...placeOf(object), subresource });
        return call({ method: "PUT", path, body: typed(resource, object), ...options });
      },

      async patch(key, { patch, subresource, dryRun, ...options }) {
        const query = dryRun ? formatQuery({ dryRun: "All" }) : "";
        const path = objectPath(resource, { ...key, subresource }) + query;
        return call({
          method: "PATCH",
          path,
          body: patch.body,
          contentType: patchTypes[patch.kind],
          ...options,
        });
      },

      async delete(key, { signal, ...options } = {}) {
        const path = objectPath(resource, key);
        await finish(await send({ method: "DELETE", path, body: deleteBody(options), signal }));
      },

      async deleteCollection({ namespace, signal, propagationPolicy, ...selectors }) {
        const path = collectionOf(resource, namespace) + formatQuery(selectors);
        await finish(await send({ method: "DELETE", path, body: deleteBody({ propagationPolicy }), signal }));
      },
    };
  }

  const builtIn = new Map<ResourceName, unknown>();
  function clientNamed<Name extends ResourceName>(name: Name): ResourceClient<ObjectTypes[Name]> {
    const known = builtIn.get(name) ?? clientOf<ObjectTypes[Name]>(resourceNamed(name));
    builtIn.set(name, known);
    // Safe: the map holds for each name the client of its own type.
    return known as ResourceClient<ObjectTypes[Name]>;
  }

  return {
    get: (name, key, options) => clientNamed(name).get(key, options),
    list: (name, options) => clientNamed(name).list(options),
    watch: (name, options) => clientNamed(name).watch(options),
    create: (name, object, options) => clientNamed(name).create(object, options),
    update: (name, object, options) => clientNamed(name).update(object, options),
    patch: (name, key, options) => clientNamed(name).patch(key, options),
    delete: (name, key, options) => clientNamed(name).delete(key, options),
    deleteCollection: (name, options) => clientNamed(name).deleteCollection(options),
    resource: (id) => clientOf(id),
    request: (method, path, options) => call({ method, path, ...options }),
    readText: async (path, options) => (await send({ method: "GET", path, ...options })).text(),
    close: () => transport.close(),
  };
}

function placeOf({ metadata: { namespace, name } }: KubeObject) {
  return { namespace, name };
}

/** Sets apiVersion and kind, which items of lists by other clients may lack. */
function typed(resource: ResourceAddress, object: KubeObject) {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind ?? object.kind };
}

function deleteBody(options: Omit<DeleteOptions, "signal">) {
  return { kind: "DeleteOptions", apiVersion: "v1", ...options };
}

/** Reads the response to the end, which returns the connection to the pool. */
async function finish(response: TransportResponse): Promise<void> {
  for await (const _ of response.chunks());
}

async function readError(response: TransportResponse, request: string) {
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Not a Status, for example the error page of a proxy.
  }
  return readStatusError({ code: response.status, body, request });
}

function parseBody<T>(text: string, request: string): T {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TransportError(`${request}: the server's response is not JSON`, { cause: error });
  }
}

function readObjectList<T extends KubeObject>(
  resource: ResourceAddress,
  { envelope, items }: { envelope: unknown; items: readonly unknown[] },
): ObjectList<T> {
  const { resourceVersion, continue: next } = metadataOf(envelope);
  if (typeof resourceVersion !== "string") {
    throw new TransportError(`the server's list of ${resource.plural} has no resourceVersion`);
  }
  const objects = items as T[];
  // Items of a list omit apiVersion and kind; the list implies them.
  const apiVersion = apiVersionOf(resource);
  const kind = resource.kind ?? itemKindOf(envelope);
  for (const object of objects) {
    object.apiVersion ??= apiVersion;
    object.kind ??= kind;
  }
  return { items: objects, resourceVersion, ...(typeof next === "string" && next && { continue: next }) };
}

/** Returns `Widget` for a `WidgetList`. */
function itemKindOf(envelope: unknown): string {
  const { kind } = isRecord(envelope) ? envelope : {};
  return typeof kind === "string" ? kind.replace(/List$/, "") : "";
}

/** Parses a watch event. Returns undefined for unknown types of later API versions. */
function readWatchEvent<T extends KubeObject>(line: unknown): WatchEvent<T> | undefined {
  const { type, object } = isRecord(line) ? line : {};
  const { resourceVersion } = metadataOf(object);
  switch (type) {
    case "ERROR":
      throw readStatusError({ code: 500, body: object, request: "watch" });
    case "BOOKMARK":
      return typeof resourceVersion === "string" ? { type, resourceVersion } : undefined;
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      if (typeof resourceVersion !== "string") {
        throw new TransportError("the server sent a watch event without a resourceVersion");
      }
      return { type, object: object as T };
    default:
      return undefined;
  }
}

function metadataOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) && isRecord(value.metadata) ? value.metadata : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Upper limit of the delay, so that a wrong value cannot block a component. */
const maxWaitMs = 60_000;

/**
 * Delay requested by a 429 response, or undefined when it has none. The server has not processed the request, so every
 * verb can be retried.
 */
function retryAfterMs({
  status,
  headers,
}: Pick<TransportResponse, "status" | "headers">): number | undefined {
  const value = headers["retry-after"];
  if (status !== 429 || value === undefined || !/^\d+$/.test(value)) return undefined;
  return Math.min(Number(value) * 1_000, maxWaitMs);
}
