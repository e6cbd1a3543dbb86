import { invalid } from "../../api/field-error.ts";
import type { KubeObject } from "../../api/objects.ts";
import { badRequest, conflict, invalidObject, modifiedDetail, StatusError } from "../../api/status-error.ts";
import { validateObjectMetaUpdate } from "../../api/validation/metadata.ts";
import type { Answer, ObjectAnswer } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { Change, ObjectRef } from "../registry/registry.ts";
import type { Strategy, StrategyContext } from "../strategy/strategy.ts";
import { createObject } from "./create.ts";
import { keepServerMetadata } from "./object-metadata.ts";
import { strategyContext, type WriteDeps } from "./write-deps.ts";

export interface UpdateRequest {
  readonly ref: ObjectRef;
  readonly subresource: "" | "status";
  /** Makes the new object of the current one; runs again when somebody else was faster. */
  readonly next: (current: KubeObject) => KubeObject | Promise<KubeObject>;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly warnings: readonly string[];
}

/** PUT: the body replaces the object. */
export async function replaceObject(
  deps: WriteDeps,
  request: Omit<UpdateRequest, "next"> & { object: KubeObject },
): Promise<Answer> {
  const { ref, object, subresource } = request;
  const strategy = deps.strategyFor(ref.resource);
  checkNames(ref, object);
  try {
    const next = (current: KubeObject) => {
      checkUid(ref, object.metadata.uid, current);
      if (!object.metadata.resourceVersion && strategy.allowUnconditionalUpdate === false) {
        // Upstream names the resource here, and not the kind.
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
    const { resource, namespace } = ref;
    return createObject(deps, { ...request, resource, namespace });
  }
}

/** What PUT and PATCH share: read, change, check, write, until nobody interferes. */
export async function updateObject(deps: WriteDeps, request: UpdateRequest): Promise<ObjectAnswer> {
  const { ref, dryRun } = request;
  let warnings: readonly string[] = [];
  /** What the answer shows where it is not what is stored. */
  let shown: KubeObject | undefined;
  const result = await deps.registry.change(ref, async (cached): Promise<Change> => {
    const current = request.subresource === "status" ? cached.parseButSpec() : cached.parse();
    const next = await request.next(current);
    checkNames(ref, next);
    checkVersion(ref, next, cached.revision);
    next.metadata.uid ??= current.metadata.uid;
    next.metadata.resourceVersion = current.metadata.resourceVersion;
    warnings = await prepare(deps, request, next, current);
    const done = isDone(next, current);
    shown = dryRun || done ? next : undefined;
    if (dryRun) return { kind: "keep" };
    return done ? { kind: "remove" } : { kind: "put", object: next };
  });
  const all = [...request.warnings, ...warnings];
  return { kind: "object", status: 200, object: shown ?? result.object, warnings: all };
}

/** Defaults, rules and checks of the kind; changes `next` and answers with warnings. */
async function prepare(
  deps: WriteDeps,
  request: UpdateRequest,
  next: KubeObject,
  current: KubeObject,
): Promise<readonly string[]> {
  const { ref, subresource, user, dryRun } = request;
  const strategy = deps.strategyFor(ref.resource);
  const context = strategyContext(deps);
  next.metadata.namespace = current.metadata.namespace;
  if (next.metadata.namespace === undefined) delete next.metadata.namespace;
  keepServerMetadata(next, current);
  if (subresource === "status") {
    const applyDefaults = strategy.applyStatusDefaults ?? strategy.applyDefaults;
    applyDefaults?.(next, context);
    strategy.prepareForStatusUpdate?.(next, current, context);
  } else {
    strategy.applyDefaults?.(next, context);
    strategy.prepareForUpdate?.(next, current, context);
  }
  await deps.admit({ operation: "update", ref, subresource, object: next, current, user, dryRun });
  const errors = [
    ...validateObjectMetaUpdate(next.metadata, current.metadata),
    ...validate(strategy, { subresource, next, current, context }),
  ];
  if (errors.length > 0) throw invalidObject(ref.resource, ref.name, errors);
  // They are about the spec, and who writes the status has not written that.
  return subresource === "status" ? [] : (strategy.warnings?.(next, context, current) ?? []);
}

function validate(
  strategy: Strategy,
  update: { subresource: string; next: KubeObject; current: KubeObject; context: StrategyContext },
) {
  const { subresource, next, current, context } = update;
  const check = subresource === "status" ? strategy.validateStatusUpdate : strategy.validateUpdate;
  return check?.(next, current, context) ?? [];
}

function checkNames(ref: ObjectRef, object: KubeObject): void {
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

/** A uid in a PUT is a precondition: another object of the same name is not the one that was meant. */
export function checkUid(ref: ObjectRef, uid: string | undefined, { metadata }: KubeObject): void {
  if (uid === undefined || uid === metadata.uid) return;
  const detail = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw conflict(ref.resource, ref.name, detail);
}

/** An update that names the version it was made from is refused when there is a newer one. */
function checkVersion(ref: ObjectRef, next: KubeObject, revision: number): void {
  const wanted = next.metadata.resourceVersion;
  if (wanted && wanted !== "0" && wanted !== String(revision))
    throw conflict(ref.resource, ref.name, modifiedDetail);
}

/** The update took away the last thing that a deleted object waited for. */
function isDone(next: KubeObject, current: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = current.metadata;
  const released = finalizers.length > 0 && (next.metadata.finalizers ?? []).length === 0;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && released;
}
