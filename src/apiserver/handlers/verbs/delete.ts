import type { DeleteOptions, KubeObject, ObjectMeta } from "../../../api/meta/objects.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import { conflict, type Status, StatusError } from "../../../api/meta/status-error.ts";
import { formatTime } from "../../../api/meta/time.ts";
import type { ApiResponse } from "../../request/api-request.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { CachedObject } from "../../storage/cached-object.ts";
import type { Change, ObjectRef } from "../../storage/object-store.ts";
import { definitionOf, strategyContext, type WriteDeps } from "./write-deps.ts";

interface DeleteRequest {
  readonly ref: ObjectRef;
  readonly options: DeleteOptions;
  readonly user: UserInfo;
}

export async function deleteObject(deps: WriteDeps, request: DeleteRequest): Promise<ApiResponse> {
  const { ref, options } = request;
  const { strategy } = definitionOf(deps, ref.resource);
  const dryRun = (options.dryRun?.length ?? 0) > 0;
  let warnings: string[] = [];
  const result = await deps.objectStore.change(ref, async (cached): Promise<Change> => {
    const current = cached.parse();
    checkPreconditions(ref, options, current);
    warnings = [];
    await deps.admission.admit({
      operation: "delete",
      ref,
      subresource: "",
      object: undefined,
      current,
      user: request.user,
      dryRun,
      options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...withoutEmpty(options) },
      warnings,
    });
    const held = strategy.beginDeletion?.(current, strategyContext(deps)) === "hold";
    const plan = decideDelete({
      object: current,
      options,
      orphansByDefault: strategy.orphanWarning !== undefined,
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
  const isPolicyGiven = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (strategy.orphanWarning && !isPolicyGiven) warnings.push(strategy.orphanWarning);
  if (removed && !strategy.returnsDeletedObject) {
    return { kind: "object", status: 200, object: successStatus(ref, result.object), warnings };
  }
  // 202 for a delete that is not finished, but only for clients that use the deprecated orphanDependents.
  const status = !removed && options.orphanDependents === false ? 202 : 200;
  return { kind: "object", status, object: result.object, warnings };
}

function withoutEmpty({ dryRun, ...options }: DeleteOptions): object {
  return { ...options, ...(dryRun?.length && { dryRun }) };
}

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
  // Upstream names the kind here instead of the resource.
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

interface DeleteCollectionRequest {
  readonly resource: Resource;
  readonly items: readonly CachedObject[];
  readonly revision: number;
  readonly options: DeleteOptions;
  readonly user: UserInfo;
}

/** Number of concurrent deletes: enough for the store to commit them in one transaction. */
const concurrency = 64;

/** Deletes each object of a list. Returns the list. */
export async function deleteCollection(
  deps: WriteDeps,
  request: DeleteCollectionRequest,
): Promise<ApiResponse> {
  const { resource, items, revision, options, user } = request;
  const waiting = [...items];
  const worker = async () => {
    for (let object = waiting.pop(); object; object = waiting.pop()) {
      const { name = "", namespace = "" } = object.parse().metadata;
      await deleteObject(deps, { ref: { resource, namespace, name }, options, user }).catch(ignoreMissing);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { kind: "list", items, revision };
}

/** NotFound is ignored: another client deleted the object. */
function ignoreMissing(error: unknown): void {
  if (!(error instanceof StatusError) || error.code !== 404) throw error;
}

/** Effect of a delete on an object. */
export type DeletePlan =
  /** The object is removed immediately. */
  | { readonly kind: "remove" }
  /** The object is marked and stays until a kubelet or the owner of a finalizer is done. */
  | { readonly kind: "mark"; readonly metadata: ObjectMeta }
  /** The object is being deleted already, and this delete changes nothing. */
  | { readonly kind: "unchanged" };

interface DeleteFacts {
  readonly object: KubeObject;
  readonly options: DeleteOptions;
  /** Whether a delete without a propagation policy orphans dependents. Default: it deletes them. */
  readonly orphansByDefault?: boolean;
  /** Default grace period of the kind. 0 if objects are removed immediately. */
  readonly gracePeriodSeconds: number;
  /** Whether the object is kept by something other than metadata.finalizers, such as the content of a namespace. */
  readonly held: boolean;
  readonly now: number;
}

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

export function decideDelete(facts: DeleteFacts): DeletePlan {
  const { object, options, orphansByDefault = false, gracePeriodSeconds, held, now } = facts;
  const current = object.metadata;
  const finalizers = finalizersAfter(current.finalizers ?? [], { ...options, orphansByDefault });
  const mustWait = finalizers.length > 0 || held;
  const grace = graceOf(current, gracePeriodSeconds);

  if (grace === 0 && !mustWait) return { kind: "remove" };

  // With finalizers the object is only marked: the finalizers, not a grace period, decide when it is removed.
  const deletionGracePeriodSeconds = grace;
  const alreadyMarked = current.deletionTimestamp !== undefined;
  const shorter = alreadyMarked && grace < (current.deletionGracePeriodSeconds ?? 0);
  const finalizersChanged = finalizers.join() !== (current.finalizers ?? []).join();
  if (alreadyMarked && !shorter && !finalizersChanged) return { kind: "unchanged" };

  const metadata: ObjectMeta = { ...current, finalizers };
  if (finalizers.length === 0) delete metadata.finalizers;
  if (!alreadyMarked || shorter) {
    const start = alreadyMarked ? deletionStart(current) : now;
    metadata.deletionTimestamp = formatTime(start + deletionGracePeriodSeconds * 1_000);
    // A held object is removed once it is released.
    if (!held) metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
    // Kinds without a generation do not get one.
    if (!alreadyMarked && (metadata.generation ?? 0) > 0)
      metadata.generation = (metadata.generation ?? 0) + 1;
  }
  return { kind: "mark", metadata };
}

/** Grace period of a repeated delete, which may shorten it but not extend it. */
function graceOf(current: ObjectMeta, wanted: number): number {
  if (current.deletionTimestamp === undefined) return wanted;
  return Math.min(wanted, current.deletionGracePeriodSeconds ?? 0);
}

/** Time of the first delete: the deletionTimestamp minus the grace period, but not before the creation. */
function deletionStart({ creationTimestamp = "", ...current }: ObjectMeta): number {
  const graceMs = (current.deletionGracePeriodSeconds ?? 0) * 1_000;
  return Math.max(Date.parse(current.deletionTimestamp ?? "") - graceMs, Date.parse(creationTimestamp) || 0);
}

interface Propagation extends Pick<DeleteOptions, "orphanDependents" | "propagationPolicy"> {
  readonly orphansByDefault: boolean;
}

/** Finalizers after the propagation policy has added or removed those of the garbage collector. */
function finalizersAfter(finalizers: readonly string[], options: Propagation): string[] {
  const wanted = gcFinalizer(finalizers, options);
  const kept = finalizers.filter(
    (name) => (name !== orphanFinalizer && name !== foregroundFinalizer) || name === wanted,
  );
  return wanted && !kept.includes(wanted) ? [...kept, wanted] : kept;
}

function gcFinalizer(finalizers: readonly string[], options: Propagation): string | undefined {
  if (options.orphanDependents === true) return orphanFinalizer;
  if (options.orphanDependents === false) return undefined;
  switch (options.propagationPolicy) {
    case "Orphan":
      return orphanFinalizer;
    case "Foreground":
      return foregroundFinalizer;
    case "Background":
      return undefined;
    default:
      // Without a policy, finalizers that an earlier delete or the creator set are kept.
      return (
        finalizers.find((name) => name === orphanFinalizer || name === foregroundFinalizer) ??
        (options.orphansByDefault ? orphanFinalizer : undefined)
      );
  }
}
