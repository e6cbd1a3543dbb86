import type { KubeObject } from "../../../api/meta/objects.ts";
import type { Resource } from "../../../api/meta/resource.ts";
import { alreadyExists, badRequest, invalidObject, StatusError } from "../../../api/meta/status-error.ts";
import { validateObjectMeta } from "../../../api/meta/validate-metadata.ts";
import type { AdmissionRequest } from "../../admission/admission-chain.ts";
import type { ApiResponse } from "../../request/api-request.ts";
import type { UserInfo } from "../../request/user-info.ts";
import { setServerMetadata } from "../../storage/object-metadata.ts";
import { type ObjectRef, refOf } from "../../storage/object-store.ts";
import { type FieldWriter, serverWriter, trackFields } from "./track-fields.ts";
import { definitionOf, strategyContext, type WriteDeps } from "./write-deps.ts";

export interface CreateRequest {
  readonly resource: Resource;
  readonly namespace: string;
  readonly object: KubeObject;
  readonly user: UserInfo;
  /** Undefined if the object's managedFields are complete. */
  readonly writer: FieldWriter | undefined;
  readonly dryRun: boolean;
  readonly warnings: readonly string[];
  /** Options of the request for admission webhooks. Default: none. */
  readonly options?: object;
}

/** Attempts to generate a name that is not in use. */
const nameAttempts = 8;

export async function createObject(deps: WriteDeps, request: CreateRequest): Promise<ApiResponse> {
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

async function createOnce(deps: WriteDeps, request: CreateRequest): Promise<ApiResponse> {
  const { resource, object, user, writer, dryRun } = request;
  const definition = definitionOf(deps, resource);
  const { strategy } = definition;
  const context = strategyContext(deps);
  checkRequest(request);
  if (strategy.load) await strategy.load(object);
  const namespace = resource.namespaced ? request.namespace : "";
  const hasGeneratedName = !object.metadata.name;
  setServerMetadata(object, { namespace, now: context.now });
  const ref: ObjectRef = { resource, namespace, name: object.metadata.name ?? "" };

  strategy.applyDefaults?.(object, context);
  if (writer) {
    const { now } = context;
    trackFields(deps, { definition, endpoint: "", writer, next: object, current: undefined, now });
  }
  const admissionWarnings: string[] = [];
  const admitted: AdmissionRequest = {
    operation: "create",
    ref,
    subresource: "",
    object,
    current: undefined,
    user,
    dryRun,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", ...request.options },
    hasGeneratedName,
    warnings: admissionWarnings,
  };
  await deps.admission.mutate(admitted);
  // As upstream, after mutating admission, so that it cannot set what only the server sets.
  strategy.prepareForCreate?.(object, context);
  await deps.admission.allocate(admitted);
  const errors = [
    ...validateObjectMeta(object.metadata, {
      namespaced: resource.namespaced,
      nameRule: strategy.nameRule ?? "dnsSubdomain",
      ...(strategy.finalizers && { finalizers: strategy.finalizers }),
    }),
    ...(strategy.validate?.(object, context) ?? []),
  ];
  if (errors.length > 0) throw invalidObject(resource, ref.name, errors);
  await deps.admission.validate(admitted);

  const warnings = [
    ...request.warnings,
    ...admissionWarnings,
    ...(strategy.warnings?.(object, context) ?? []),
  ];
  if (dryRun) {
    if (await deps.objectStore.find(ref)) throw alreadyExists(resource, ref.name);
    return { kind: "object", status: 201, object, warnings };
  }
  const created = await deps.objectStore.create(ref, object);
  if (object.kind === "Namespace") {
    const defaults = namespaceDefaults(ref.name, deps.rootCa);
    await Promise.all(defaults.map((missing) => createIfMissing(deps, missing, user)));
  }
  return { kind: "object", status: 201, object: created, warnings };
}

/**
 * Objects that are created with a namespace: pods need the service account, and the CA to verify the API server. Written
 * with the namespace, so that clients need not wait for a controller.
 */
export function namespaceDefaults(namespace: string, rootCa: string): KubeObject[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "kube-root-ca.crt", namespace },
      data: { "ca.crt": rootCa },
    } as KubeObject,
  ];
}

/** Creates an object that the server maintains. AlreadyExists is ignored. */
export async function createIfMissing(deps: WriteDeps, object: KubeObject, user: UserInfo): Promise<void> {
  const { resource, namespace } = refOf(deps.kinds, object);
  try {
    const request = { resource, namespace, object, user, writer: serverWriter, dryRun: false, warnings: [] };
    await createObject(deps, request);
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
