import type { KubeObject } from "../../api/objects.ts";
import type { Resource } from "../../api/resources.ts";
import { alreadyExists, badRequest, invalidObject, StatusError } from "../../api/status-error.ts";
import { validateObjectMeta } from "../../api/validation/metadata.ts";
import type { Answer } from "../api-request.ts";
import type { UserInfo } from "../auth/user-info.ts";
import { type ObjectRef, refOf } from "../registry/registry.ts";
import { stampNewObject } from "./object-metadata.ts";
import { strategyContext, type WriteDeps } from "./write-deps.ts";

export interface CreateRequest {
  readonly resource: Resource;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly warnings: readonly string[];
}

/** A random suffix that is taken is tried again with another one this often. */
const nameAttempts = 8;

export async function createObject(deps: WriteDeps, request: CreateRequest): Promise<Answer> {
  const generated = !request.object.metadata.name && request.object.metadata.generateName;
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOnce(deps, request);
    } catch (error) {
      const taken = error instanceof StatusError && error.reason === "AlreadyExists";
      if (!taken || !generated || attempt === nameAttempts) throw error;
      delete request.object.metadata.name;
    }
  }
}

async function createOnce(deps: WriteDeps, request: CreateRequest): Promise<Answer> {
  const { resource, object, user, dryRun } = request;
  const strategy = deps.strategyFor(resource);
  const context = strategyContext(deps);
  checkRequest(request);
  const namespace = resource.namespaced ? request.namespace : "";
  stampNewObject(object, { namespace, now: context.now });
  const ref: ObjectRef = { resource, namespace, name: object.metadata.name ?? "" };

  strategy.applyDefaults?.(object, context);
  strategy.prepareForCreate?.(object, context);
  await deps.admit({ operation: "create", ref, subresource: "", object, current: undefined, user, dryRun });
  const errors = [
    ...validateObjectMeta(object.metadata, {
      namespaced: resource.namespaced,
      nameRule: strategy.nameRule ?? "dnsSubdomain",
    }),
    ...(strategy.validate?.(object, context) ?? []),
  ];
  if (errors.length > 0) throw invalidObject(resource, ref.name, errors);

  const warnings = [...request.warnings, ...(strategy.warnings?.(object, context) ?? [])];
  if (dryRun) {
    if (await deps.registry.find(ref)) throw alreadyExists(resource, ref.name);
    return { kind: "object", status: 201, object, warnings };
  }
  const created = await deps.registry.create(ref, object);
  await Promise.all(deps.companions(object).map((companion) => createIfMissing(deps, companion, user)));
  return { kind: "object", status: 201, object: created, warnings };
}

/** For what the server itself puts there: that somebody else was faster is fine. */
export async function createIfMissing(deps: WriteDeps, object: KubeObject, user: UserInfo): Promise<void> {
  const { resource, namespace } = refOf(object);
  try {
    await createObject(deps, { resource, namespace, object, user, dryRun: false, warnings: [] });
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
  }
}

function checkRequest({ resource, namespace, object }: CreateRequest): void {
  const { metadata } = object;
  if (metadata.resourceVersion)
    throw badRequest("resourceVersion should not be set on objects to be created");
  delete metadata.resourceVersion;
  if (resource.namespaced && metadata.namespace && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}
