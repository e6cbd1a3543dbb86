import type { DeleteOptions, KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import { conflict, type Status } from "../../api/status-error.ts";
import type { Answer } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import type { Change, ObjectRef } from "../registry/registry.ts";
import { decideDelete } from "./decide-delete.ts";
import { strategyContext, type WriteDeps } from "./write-deps.ts";

export interface DeleteRequest {
  readonly ref: ObjectRef;
  readonly options: DeleteOptions;
  readonly user: UserInfo;
}

export async function deleteObject(deps: WriteDeps, request: DeleteRequest): Promise<Answer> {
  const { ref, options } = request;
  const strategy = deps.strategyFor(ref.resource);
  const dryRun = (options.dryRun?.length ?? 0) > 0;
  const result = await deps.registry.change(ref, async (cached): Promise<Change> => {
    const current = cached.parse();
    checkPreconditions(ref, options, current);
    await deps.admit({
      operation: "delete",
      ref,
      subresource: "",
      object: undefined,
      current,
      user: request.user,
      dryRun,
    });
    const held = strategy.beginDeletion?.(current, strategyContext(deps)) === "hold";
    const plan = decideDelete({
      object: current,
      options,
      gracePeriodSeconds: strategy.gracePeriodSeconds?.(current, options) ?? 0,
      held,
      now: deps.clock.now(),
    });
    if (dryRun) return { kind: "keep" };
    switch (plan.kind) {
      case "remove":
        return { kind: "remove" };
      case "unchanged":
        return { kind: "keep" };
      case "mark":
        return { kind: "put", object: { ...current, metadata: plan.metadata } };
    }
  });
  const removed = result.kind === "removed" || dryRun;
  if (removed && !returnsObject.has(ref.resource.plural)) {
    return { kind: "object", status: 200, object: successStatus(ref, result.object) };
  }
  // Accepted rather than done: only clients that spelled cascading the old way are told apart.
  const status = !removed && options.orphanDependents === false ? 202 : 200;
  return { kind: "object", status, object: result.object };
}

/** Kinds whose delete answers with the deleted object; the others answer with a Status. */
const returnsObject: ReadonlySet<Resource["plural"]> = new Set([
  "pods",
  "services",
  "serviceaccounts",
  "persistentvolumes",
  "persistentvolumeclaims",
]);

function successStatus({ resource, name }: ObjectRef, object: CachedObject): Status {
  const uid = object.parse().metadata.uid;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { name, ...(resource.group && { group: resource.group }), kind: resource.plural, uid },
  };
}

function checkPreconditions(ref: ObjectRef, options: DeleteOptions, current: KubeObject): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = current;
  // Upstream names the kind here, and not the resource.
  const { group, kind: plural } = ref.resource;
  if (uid && uid !== metadata.uid) {
    const detail = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`;
    throw conflict({ group, plural }, ref.name, detail);
  }
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) {
    const detail = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`;
    throw conflict({ group, plural }, ref.name, detail);
  }
}
