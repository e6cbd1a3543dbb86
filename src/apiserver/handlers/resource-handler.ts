import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import type { Resource } from "../../api/meta/resource.ts";
import {
  methodNotAllowed,
  pathNotFound,
  StatusError,
  unsupportedMediaType,
} from "../../api/meta/status-error.ts";
import { patchMediaTypesOf } from "../../api/patch/apply-patch.ts";
import { decodeBody } from "../../api/schema/decode-body.ts";
import type { Schema } from "../../api/schema/schema.ts";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import { bodyAsJson } from "../request/body-as-json.ts";
import type { ResourceRequest } from "../request/request-info.ts";
import type { ObjectReader } from "../storage/object-reader.ts";
import { parseObjectSelector } from "../storage/object-selector.ts";
import type { ObjectRef, ObjectStore } from "../storage/object-store.ts";
import { limitWarnings, toStoredKind } from "./encoding/encode.ts";
import { applyObject } from "./verbs/apply.ts";
import { createObject } from "./verbs/create.ts";
import { deleteCollection, deleteObject } from "./verbs/delete.ts";
import { listObjects, waitForRevision } from "./verbs/list.ts";
import { isApplyPatch, readApplyPatch } from "./verbs/read-apply-patch.ts";
import { parseListOptions, parseWatchOptions, revisionParameter } from "./verbs/read-options.ts";
import { writerOf } from "./verbs/track-fields.ts";
import { patchObject, replaceObject } from "./verbs/update.ts";
import type { WatchRequest } from "./verbs/watch.ts";
import type { WriteDeps } from "./verbs/write-deps.ts";
import { admissionOptions, parseDeleteOptions, parseWriteOptions, readPatch } from "./verbs/write-options.ts";

export interface ResourceHandlerDeps extends WriteDeps {
  readonly reader: ObjectReader;
}

/** A request for a resource that is served. */
export type ServedRequest = ResourceRequest & { readonly definition: KindDefinition };

/** Handles the verbs that all kinds share, including `/status`. */
export async function handleResource(
  deps: ResourceHandlerDeps,
  request: ApiRequest,
  info: ServedRequest,
): Promise<ApiResponse> {
  const { definition } = info;
  const { resource } = definition;
  const ref: ObjectRef = { resource, namespace: resource.namespaced ? info.namespace : "", name: info.name };
  const subresource = info.subresource === "status" ? "status" : "";
  if (resource.namespaced && info.namespace === "") rejectWithoutNamespace(info);

  switch (info.verb) {
    case "":
      throw methodNotAllowed();
    case "get":
      if (request.query.has("resourceVersion"))
        await waitForRevision(deps.reader, revisionParameter(request.query) ?? 0);
      return getObject(deps.objectStore, ref);
    case "list":
      return listObjects(deps.reader, listRequest(request, info));
    case "create": {
      if (info.name) throw methodNotAllowed();
      if (definition.isTerminating?.()) throw createWhileTerminating(resource);
      const sent = await readObject(request, definition, "CreateOptions");
      const { user } = request;
      const options = admissionOptions(request.query);
      const written = { namespace: info.namespace, user, writer: writerOf(request), options };
      const created = { ...sent, resource, ...written };
      return withWarnings(createObject(deps, created), sent);
    }
    case "update": {
      if (!info.name) throw methodNotAllowed();
      const sent = await readObject(request, definition, "UpdateOptions");
      const { user } = request;
      const writer = writerOf(request, subresource);
      const options = admissionOptions(request.query);
      return withWarnings(replaceObject(deps, { ...sent, ref, subresource, user, writer, options }), sent);
    }
    case "patch": {
      if (!info.name) throw methodNotAllowed();
      const options = parseWriteOptions(request.query, "PatchOptions");
      const { dryRun, fieldValidation } = options;
      const { user } = request;
      const reviewed = admissionOptions(request.query);
      if (isApplyPatch(request)) {
        const applyRequest = await readApplyPatch(request);
        const write = { ref, subresource, user, dryRun, fieldValidation, options: reviewed } as const;
        return applyObject(deps, { ...applyRequest, ...write });
      }
      const patch = await readPatch(request, options);
      if (patch.type === "strategic" && definition.schema.decode)
        throw strategicPatchUnsupported(definition.schema);
      return patchObject(deps, {
        ref,
        subresource,
        patch,
        user,
        writer: writerOf(request, subresource),
        dryRun,
        options: reviewed,
      });
    }
    case "delete":
      return deleteObject(deps, { ref, options: await parseDeleteOptions(request), user: request.user });
    case "deletecollection": {
      // As upstream, namespaces cannot be deleted as a collection.
      if (resource.plural === "namespaces") throw methodNotAllowed();
      const options = await parseDeleteOptions(request);
      const found = await listObjects(deps.reader, listRequest(request, info));
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

export function watchRequest(request: ApiRequest, info: ServedRequest): WatchRequest {
  const { definition, namespace, name } = info;
  const { resource, strategy } = definition;
  const selector = parseObjectSelector(request.query, resource, strategy);
  return { resource, namespace, name, selector, options: parseWatchOptions(request.query) };
}

function listRequest(request: ApiRequest, info: ServedRequest) {
  const { definition, namespace } = info;
  const { resource, strategy } = definition;
  const selector = parseObjectSelector(request.query, resource, strategy);
  return { resource, namespace, selector, options: parseListOptions(request.query) };
}

async function readObject(
  request: ApiRequest,
  { resource, schema }: KindDefinition,
  optionsKind: "CreateOptions" | "UpdateOptions",
) {
  const { fieldValidation, dryRun } = parseWriteOptions(request.query, optionsKind);
  const text = await bodyAsJson(await request.readBody(), request.headers["content-type"], schema);
  const { object, warnings } = decodeBody<KubeObject>(schema, resource, text, { fieldValidation });
  object.metadata ??= {};
  return { object: toStoredKind(object, resource), warnings, dryRun };
}

/** Adds the warnings to an error: an unknown field may be the reason why the object is invalid. */
function withWarnings(
  handled: Promise<ApiResponse>,
  { warnings }: { warnings: readonly string[] },
): Promise<ApiResponse> {
  if (warnings.length === 0) return handled;
  return handled.catch((error: unknown) => {
    if (error instanceof StatusError) error.warnings = limitWarnings(warnings);
    throw error;
  });
}

function createWhileTerminating({ group, plural }: Resource): StatusError {
  const message = "create not allowed while custom resource definition is terminating";
  return new StatusError(405, "MethodNotAllowed", message, { group, kind: plural });
}

function strategicPatchUnsupported(schema: Schema): StatusError {
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${patchMediaTypesOf(schema).join(", ")}`,
  );
}

/** Only list and watch have a path without a namespace. */
function rejectWithoutNamespace({ verb, name }: ServedRequest): void {
  if (name) throw pathNotFound();
  if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
}

async function getObject(objectStore: ObjectStore, ref: ObjectRef): Promise<ApiResponse> {
  return { kind: "object", status: 200, object: await objectStore.get(ref) };
}
