import { apiVersionOf, type Resource } from "../api/resources.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { CallOptions, Client, DeleteOptions, ObjectTypes, Patch, ResourceName } from "./client.ts";
import { loadInClusterAccess, loadKubeconfig } from "./cluster-access.ts";
import { createHttpTransport } from "./http-transport.ts";
import { readJsonLines } from "./json-lines.ts";
import { readList } from "./read-list.ts";
import { readStatusError } from "./read-status-error.ts";
import { collectionOf, collectionPath, formatQuery, objectPath, resourceNamed } from "./resource-path.ts";
import { retryAfterMs } from "./retry-after.ts";
import { type Transport, TransportError, type TransportResponse } from "./transport.ts";
import { readObjectList, readWatchEvent } from "./wire-objects.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /** How the server's logs name this client. */
  readonly userAgent?: string;
  readonly clock?: Clock;
}

/** With the current context of a kubeconfig; without one, with the service account of the pod that this runs in. */
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
  readonly contentType?: string;
  readonly longLived?: boolean;
}

const patchTypes: Readonly<Record<Patch["kind"], string>> = {
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
};

/** How often a server may say "later" before its caller hears of it. */
const maxPostponements = 5;

export function createClient({
  transport,
  userAgent = "kindling",
  clock = systemClock,
}: ClientOptions): Client {
  async function send(request: Request): Promise<TransportResponse> {
    const { method, path, signal, longLived, body, contentType = "application/json" } = request;
    const headers: Record<string, string> = { accept: "application/json", "user-agent": userAgent };
    if (body !== undefined) headers["content-type"] = contentType;
    const text = body === undefined ? undefined : JSON.stringify(body);
    for (let attempt = 0; ; attempt++) {
      const response = await transport.send({ method, path, headers, body: text, signal, longLived });
      if (response.status >= 200 && response.status < 300) return response;
      const error = await readError(response, `${method} ${path}`);
      const waitMs = retryAfterMs(response);
      if (waitMs === undefined || attempt === maxPostponements) throw error;
      await clock.sleep(waitMs, signal);
    }
  }

  async function call<T>(request: Request): Promise<T> {
    return parseBody<T>(await (await send(request)).text(), `${request.method} ${request.path}`);
  }

  return {
    get: async (name, key, options) =>
      call({ method: "GET", path: objectPath(resourceNamed(name), key), ...options }),

    async list(name, { namespace, signal, ...parameters } = {}) {
      const resource = resourceNamed(name);
      const path = collectionPath(resource, namespace) + formatQuery({ ...parameters });
      const response = await send({ method: "GET", path, signal });
      return readObjectList(resource, await readList(response.chunks()));
    },

    async *watch<Name extends ResourceName>(
      name: Name,
      { namespace, signal, ...parameters }: Parameters<Client["watch"]>[1],
    ) {
      const query = formatQuery({ watch: "true", allowWatchBookmarks: "true", ...parameters });
      const path = collectionPath(resourceNamed(name), namespace) + query;
      const response = await send({ method: "GET", path, signal, longLived: true });
      for await (const line of readJsonLines(response.chunks())) {
        const event = readWatchEvent<ObjectTypes[Name]>(line);
        if (event) yield event;
      }
    },

    async create(name, object, options) {
      const resource = resourceNamed(name);
      const path = collectionOf(resource, object.metadata.namespace);
      return call({ method: "POST", path, body: typed(resource, object), ...options });
    },

    async update(name, object, { subresource, ...options } = {}) {
      const resource = resourceNamed(name);
      const path = objectPath(resource, { ...placeOf(object), subresource });
      return call({ method: "PUT", path, body: typed(resource, object), ...options });
    },

    async patch(name, key, { patch, subresource, ...options }) {
      const path = objectPath(resourceNamed(name), { ...key, subresource });
      return call({
        method: "PATCH",
        path,
        body: patch.body,
        contentType: patchTypes[patch.kind],
        ...options,
      });
    },

    async delete(name, key, { signal, ...options } = {}) {
      const path = objectPath(resourceNamed(name), key);
      await finish(await send({ method: "DELETE", path, body: deleteBody(options), signal }));
    },

    async deleteCollection(name, { namespace, signal, propagationPolicy, ...selectors }) {
      const path = collectionOf(resourceNamed(name), namespace) + formatQuery(selectors);
      await finish(await send({ method: "DELETE", path, body: deleteBody({ propagationPolicy }), signal }));
    },

    request: (method, path, options) => call({ method, path, ...options }),
    close: () => transport.close(),
  };
}

function placeOf({ metadata: { namespace, name } }: ObjectTypes[ResourceName]) {
  return { namespace, name };
}

/** Objects out of lists of other clients may lack what says their kind; the server wants it. */
function typed(resource: Resource, object: ObjectTypes[ResourceName]) {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}

function deleteBody(options: Omit<DeleteOptions, "signal">) {
  return { kind: "DeleteOptions", apiVersion: "v1", ...options };
}

/** A connection is free for the next call once the answer is read to its end. */
async function finish(response: TransportResponse): Promise<void> {
  for await (const _ of response.chunks());
}

async function readError(response: TransportResponse, request: string) {
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy in between, or a server that gives up: the text is all there is.
  }
  return readStatusError({ code: response.status, body, request });
}

function parseBody<T>(text: string, request: string): T {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TransportError(`${request}: the server's answer is not JSON`, { cause: error });
  }
}
