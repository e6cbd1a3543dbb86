import type { KubeObject } from "../api/objects.ts";
import type { Resource } from "../api/resources.ts";
import { decodeBody } from "../api/schema/decode-body.ts";
import { methodNotAllowed, pathNotFound, StatusError } from "../api/status-error.ts";
import type { Answer, ApiRequest } from "./api-request.ts";
import type { ObjectReader } from "./registry/object-reader.ts";
import { parseObjectSelector } from "./registry/object-selector.ts";
import type { ObjectRef } from "./registry/registry.ts";
import { bodyAsJson } from "./representation/body-as-json.ts";
import { limitWarnings } from "./representation/limit-warnings.ts";
import { toStoredKind } from "./representation/present-json.ts";
import type { ResourceRequest } from "./request-info.ts";
import { createObject } from "./verb/create.ts";
import { deleteObject } from "./verb/delete.ts";
import { deleteCollection } from "./verb/delete-collection.ts";
import { getObject } from "./verb/get.ts";
import { listObjects, waitForRevision } from "./verb/list.ts";
import { patchObject } from "./verb/patch.ts";
import { parseListOptions, parseWatchOptions, revisionParameter } from "./verb/read-options.ts";
import { replaceObject } from "./verb/update.ts";
import type { WatchRequest } from "./verb/watch.ts";
import type { WriteDeps } from "./verb/write-deps.ts";
import { parseDeleteOptions, parseWriteOptions, readPatch } from "./verb/write-options.ts";

export interface ResourceHandlerDeps extends WriteDeps {
  readonly reader: ObjectReader;
}

/** A request for a kind that is served. */
export type ServedRequest = ResourceRequest & { readonly resource: Resource };

/** The generic CRUD that all kinds share, and their `/status`. */
export async function handleResource(
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  info: ServedRequest,
): Promise<Answer> {
  const { resource } = info;
  const ref: ObjectRef = { resource, namespace: resource.namespaced ? info.namespace : "", name: info.name };
  const subresource = info.subresource === "status" ? "status" : "";
  if (resource.namespaced && info.namespace === "") refuseAcrossNamespaces(info);

  switch (info.verb) {
    case "get":
      if (request.query.has("resourceVersion"))
        await waitForRevision(deps.reader, revisionParameter(request.query) ?? 0);
      return getObject(deps.registry, ref);
    case "list":
      return listObjects(deps.reader, listRequest(deps, request, info));
    case "create": {
      if (info.name) throw methodNotAllowed();
      const sent = await readObject(request, resource, "CreateOptions");
      const { user } = request;
      return withWarnings(createObject(deps, { ...sent, resource, namespace: info.namespace, user }), sent);
    }
    case "update": {
      if (!info.name) throw methodNotAllowed();
      const sent = await readObject(request, resource, "UpdateOptions");
      return withWarnings(replaceObject(deps, { ...sent, ref, subresource, user: request.user }), sent);
    }
    case "patch": {
      if (!info.name) throw methodNotAllowed();
      const options = parseWriteOptions(request.query, "PatchOptions");
      const patch = await readPatch(request, options);
      return patchObject(deps, { ref, subresource, patch, user: request.user, dryRun: options.dryRun });
    }
    case "delete":
      return deleteObject(deps, { ref, options: await parseDeleteOptions(request), user: request.user });
    case "deletecollection": {
      // Nobody deletes all namespaces at once.
      if (resource.plural === "namespaces") throw methodNotAllowed();
      const options = await parseDeleteOptions(request);
      const found = await listObjects(deps.reader, listRequest(deps, request, info));
      if (found.kind !== "list") throw new Error("a list answered with something else");
      return deleteCollection(deps, {
        resource,
        items: found.items,
        revision: found.revision,
        options,
        user: request.user,
      });
    }
    case "watch":
      throw new Error("watches are not answered here");
  }
}

export function watchRequest(
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  info: ServedRequest,
): WatchRequest {
  const { resource, namespace, name } = info;
  const selector = parseObjectSelector(request.query, resource, deps.strategyFor(resource));
  return { resource, namespace, name, selector, options: parseWatchOptions(request.query) };
}

function listRequest(deps: ResourceHandlerDeps, request: ApiRequest, info: ServedRequest) {
  const { resource, namespace } = info;
  const selector = parseObjectSelector(request.query, resource, deps.strategyFor(resource));
  return { resource, namespace, selector, options: parseListOptions(request.query) };
}

async function readObject(
  request: ApiRequest,
  resource: Resource,
  optionsKind: "CreateOptions" | "UpdateOptions",
) {
  const { fieldValidation, dryRun } = parseWriteOptions(request.query, optionsKind);
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"]);
  const { object, warnings } = decodeBody<KubeObject>(resource, text, { fieldValidation });
  object.metadata ??= {};
  return { object: toStoredKind(object, resource), warnings, dryRun };
}

/** A field that is not known may be why the object is not valid. */
function withWarnings(
  answer: Promise<Answer>,
  { warnings }: { warnings: readonly string[] },
): Promise<Answer> {
  if (warnings.length === 0) return answer;
  return answer.catch((error: unknown) => {
    if (error instanceof StatusError) error.warnings = limitWarnings(warnings);
    throw error;
  });
}

/** Without a namespace there is only the list of all objects; one object has no path there. */
function refuseAcrossNamespaces({ verb, name }: ServedRequest): void {
  if (name) throw pathNotFound();
  if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
}
