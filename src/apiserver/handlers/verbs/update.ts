import type { Strategy, StrategyContext } from "../../../api/kinds/strategy.ts";
import { invalid } from "../../../api/meta/field-errors.ts";
import { keepSpec, withoutSpec } from "../../../api/meta/lazy-spec.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import {
  badRequest,
  conflict,
  invalidObject,
  modifiedDetail,
  StatusError,
} from "../../../api/meta/status-error.ts";
import { validateObjectMetaUpdate } from "../../../api/meta/validate-metadata.ts";
import { applyPatch, type Patch } from "../../../api/patch/apply-patch.ts";
import type { DecodedBody } from "../../../api/schema/decode-body.ts";
import { definitionName } from "../../../api/schema/schema.ts";
import type { AdmissionRequest } from "../../admission/admission-chain.ts";
import type { ApiResponse, ObjectResponse } from "../../request/api-request.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { CachedObject } from "../../storage/cached-object.ts";
import { keepServerMetadata } from "../../storage/object-metadata.ts";
import type { Change, ObjectRef } from "../../storage/object-store.ts";
import { presentObject, toStoredKind } from "../encoding/encode.ts";
import { createObject } from "./create.ts";
import { type FieldWriter, keepTimes, trackFields } from "./track-fields.ts";
import { definitionOf, strategyContext, type WriteDeps } from "./write-deps.ts";

interface UpdateRequest {
  readonly ref: ObjectRef;
  readonly subresource: "" | "status";
  /** Computes the new object from the current one. Runs again after a conflict. */
  readonly next: (current: KubeObject) => KubeObject | Promise<KubeObject>;
  readonly user: UserInfo;
  /** Undefined if `next` sets managedFields. */
  readonly writer: FieldWriter | undefined;
  readonly dryRun: boolean;
  readonly warnings: readonly string[];
  /** Options of the request for admission webhooks. Default: none. */
  readonly options?: object;
}

/** PUT: replaces the object with the body. */
export async function replaceObject(
  deps: WriteDeps,
  request: Omit<UpdateRequest, "next"> & { object: KubeObject },
): Promise<ApiResponse> {
  const { ref, object, subresource } = request;
  const { strategy } = definitionOf(deps, ref.resource);
  checkNames(ref, object);
  try {
    const next = (current: KubeObject) => {
      checkUid(ref, object.metadata.uid, current);
      if (!object.metadata.resourceVersion && strategy.allowUnconditionalUpdate === false) {
        // Upstream names the resource here instead of the kind.
        const { group, plural: kind } = ref.resource;
        const error = invalid("metadata.resourceVersion", 0, "must be specified for an update");
        throw invalidObject({ group, kind }, ref.name, [error]);
      }
      return structuredClone(object);
    };
    return await updateObject(deps, { ...request, next });
  } catch (error) {
    const missing = error instanceof StatusError && error.code === 404;
    if (!missing || !strategy.allowCreateOnUpdate || subresource !== "") throw error;
    checkUid(ref, object.metadata.uid, undefined);
    const { resource, namespace } = ref;
    // As upstream, only a uid is a precondition of an update that creates.
    delete object.metadata.resourceVersion;
    return createObject(deps, { ...request, resource, namespace });
  }
}

/** Shared by PUT and PATCH: read, change, validate and write, repeated after a conflict. */
export async function updateObject(deps: WriteDeps, request: UpdateRequest): Promise<ObjectResponse> {
  const { ref, dryRun } = request;
  let warnings: readonly string[] = [];
  /** Object of the response when it is not the stored one. */
  let shown: KubeObject | undefined;
  const decide = async (cached: CachedObject): Promise<Change> => {
    const current = request.subresource === "status" ? cached.parseButSpec() : cached.parse();
    const next = await request.next(current);
    checkNames(ref, next);
    checkVersion(ref, next, cached.revision);
    next.metadata.uid ??= current.metadata.uid;
    next.metadata.resourceVersion = current.metadata.resourceVersion;
    warnings = await prepare(deps, request, next, current);
    keepTimes(next, current);
    const done = isDone(next, current);
    shown = dryRun || done ? next : undefined;
    if (dryRun) return { kind: "keep" };
    return done ? { kind: "remove" } : { kind: "put", object: next };
  };
  const result = await deps.objectStore.change(ref, decide);
  const all = [...request.warnings, ...warnings];
  return { kind: "object", status: 200, object: shown ?? result.object, warnings: all };
}

/** Applies defaults, strategy, admission and validation to `next`. Returns warnings. */
async function prepare(
  deps: WriteDeps,
  request: UpdateRequest,
  next: KubeObject,
  current: KubeObject,
): Promise<readonly string[]> {
  const { ref, subresource, user, writer, dryRun } = request;
  const definition = definitionOf(deps, ref.resource);
  const { strategy } = definition;
  const track = () => {
    const { now } = context;
    if (writer) trackFields(deps, { definition, endpoint: subresource, writer, next, current, now });
  };
  const context = strategyContext(deps);
  if (strategy.load) await strategy.load(next);
  next.metadata.namespace = current.metadata.namespace;
  if (next.metadata.namespace === undefined) delete next.metadata.namespace;
  keepServerMetadata(next, current);
  if (subresource === "status") {
    const applyDefaults = strategy.applyStatusDefaults ?? strategy.applyDefaults;
    applyDefaults?.(next, context);
  } else {
    strategy.applyDefaults?.(next, context);
  }
  track();
  const warnings: string[] = [];
  const admitted: AdmissionRequest = {
    operation: "update",
    ref,
    subresource,
    object: next,
    current,
    user,
    dryRun,
    options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", ...request.options },
    warnings,
  };
  await deps.admission.mutate(admitted);
  // As upstream, after mutating admission, so that it cannot change what this endpoint does not write.
  if (subresource === "status") strategy.prepareForStatusUpdate?.(next, current, context);
  else strategy.prepareForUpdate?.(next, current, context);
  await deps.admission.allocate(admitted);
  const errors = [
    ...validateObjectMetaUpdate(next.metadata, current.metadata, strategy),
    ...validate(strategy, { subresource, next, current, context }),
  ];
  if (errors.length > 0) throw invalidObject(ref.resource, ref.name, errors);
  await deps.admission.validate(admitted);
  // Most warnings are about the spec, which a status update does not change.
  const own =
    subresource === "status" ? strategy.statusWarnings?.(next) : strategy.warnings?.(next, context, current);
  return own ? [...warnings, ...own] : warnings;
}

function validate(
  strategy: Strategy,
  update: { subresource: string; next: KubeObject; current: KubeObject; context: StrategyContext },
) {
  const { subresource, next, current, context } = update;
  const check = subresource === "status" ? strategy.validateStatusUpdate : strategy.validateUpdate;
  return check?.(next, current, context) ?? [];
}

export function checkNames(ref: ObjectRef, object: KubeObject): void {
  const { name, namespace } = object.metadata;
  if (!name) {
    throw badRequest(
      `the name of the object (${ref.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (name !== ref.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${ref.name})`);
  }
  if (ref.resource.namespaced && namespace && namespace !== ref.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

/** A uid in a PUT is a precondition: it rejects another object of the same name. */
export function checkUid(ref: ObjectRef, uid: string | undefined, current: KubeObject | undefined): void {
  if (uid === undefined || uid === current?.metadata.uid) return;
  const found = current?.metadata.uid ?? "";
  const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`;
  throw conflict(ref.resource, ref.name, detail);
}

/** Rejects an update whose resourceVersion is not the current one. */
function checkVersion(ref: ObjectRef, next: KubeObject, revision: number): void {
  const wanted = next.metadata.resourceVersion;
  if (wanted && wanted !== "0" && wanted !== String(revision))
    throw conflict(ref.resource, ref.name, modifiedDetail);
}

/** True when the update removed the last finalizer of an object that is being deleted. */
function isDone(next: KubeObject, current: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = current.metadata;
  const released = finalizers.length > 0 && (next.metadata.finalizers ?? []).length === 0;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && released;
}

interface PatchRequest extends Omit<UpdateRequest, "next" | "warnings"> {
  readonly patch: Patch;
}

export async function patchObject(deps: WriteDeps, request: PatchRequest): Promise<ApiResponse> {
  const { resource } = request.ref;
  const warnings: string[] = [];
  const target = { schema: definitionOf(deps, resource).schema, definition: definitionName(resource) };
  const apply = (object: KubeObject) => applyPatch(request.patch, target, object);
  const applyTo = request.subresource === "status" ? besideSpec(apply, request.patch) : apply;
  const next = (current: KubeObject): KubeObject => {
    const patched = applyTo(presentObject(current, resource));
    // After a conflict the patch is applied again: the warnings of the last attempt count.
    warnings.splice(0, warnings.length, ...patched.warnings);
    return toStoredKind(patched.object, resource);
  };
  return updateObject(deps, { ...request, next, warnings });
}

type Apply = (object: KubeObject) => DecodedBody<KubeObject>;

/**
 * A status patch never changes the spec, which is most of an object, so that it need not be merged, validated and copied.
 * A JSON patch gets it nevertheless: it may test fields of the spec.
 */
function besideSpec(apply: Apply, patch: Patch): Apply {
  if (patch.type === "json") return apply;
  return (current) => {
    const { object, warnings } = apply(withoutSpec(current));
    keepSpec(object, current);
    return { object, warnings };
  };
}
