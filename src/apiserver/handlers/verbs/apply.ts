import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import { keepSpec } from "../../../api/meta/lazy-spec.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { apiVersionOf } from "../../../api/meta/resource.ts";
import { badRequest, internalError, StatusError } from "../../../api/meta/status-error.ts";
import { ApplyError } from "../../../api/patch/apply/apply-error.ts";
import {
  type ApplyConflict,
  applyConfiguration,
  conflictsBeyondLastApplied,
} from "../../../api/patch/apply/field-ownership.ts";
import { formatPath } from "../../../api/patch/apply/field-set.ts";
import { encodeManagers, type FieldManager, identityOf } from "../../../api/patch/apply/managed-fields.ts";
import { decodeObject } from "../../../api/schema/decode.ts";
import { DecodeError } from "../../../api/schema/decode-error.ts";
import { isJsonObject, type JsonObject } from "../../../api/schema/json-object.ts";
import { definitionName } from "../../../api/schema/schema.ts";
import type { FieldValidation } from "../../../api/schema/strict-errors.ts";
import type { ApiResponse } from "../../request/api-request.ts";
import type { UserInfo } from "../../request/user-info.ts";
import type { ObjectRef } from "../../storage/object-store.ts";
import { toStoredKind } from "../encoding/encode.ts";
import { createObject } from "./create.ts";
import type { ApplyOptions } from "./read-apply-patch.ts";
import {
  kindOfWrite,
  managersOfObject,
  mergeTypeOfKind,
  resetFieldsOf,
  setManagedFields,
  timeOfWrite,
  writtenPart,
} from "./track-fields.ts";
import { checkNames, updateObject } from "./update.ts";
import { definitionOf, type WriteDeps } from "./write-deps.ts";

/** Annotation in which client-side apply keeps the last configuration. */
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
/** Only this manager moves objects from client-side apply to server-side apply, as upstream. */
const kubectlManager = "kubectl";
const maxAnnotationBytes = 256 * 1_024;

interface ApplyRequest extends ApplyOptions {
  readonly ref: ObjectRef;
  readonly subresource: "" | "status";
  /** Subresource that managedFields name. Default: `subresource`. */
  readonly ownedThrough?: string;
  readonly configuration: JsonObject;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly fieldValidation: FieldValidation;
  /** Options of the request for admission webhooks. Default: none. */
  readonly options?: object;
}

/** Server-side apply: merges the configuration into the object, or creates the object. */
export async function applyObject(deps: WriteDeps, request: ApplyRequest): Promise<ApiResponse> {
  const { ref, subresource, user, dryRun } = request;
  const options = request.options && { options: request.options };
  const definition = definitionOf(deps, ref.resource);
  checkConfiguration(definition, request.configuration);
  const next = (current: KubeObject | undefined) => {
    const applied = applyTo(deps, definition, request, current);
    rejectDuplicates(request);
    return applied;
  };
  const warnings = request.fieldValidation === "Warn" ? request.duplicates : [];
  try {
    return await updateObject(deps, {
      ref,
      subresource,
      next,
      user,
      writer: undefined,
      dryRun,
      warnings,
      ...options,
    });
  } catch (error) {
    const isMissing = error instanceof StatusError && error.code === 404 && error.details?.name === ref.name;
    if (!isMissing || subresource !== "" || request.ownedThrough) throw error;
  }
  const object = next(undefined);
  checkNames(ref, object);
  const { resource, namespace } = ref;
  try {
    const created = {
      resource,
      namespace,
      object,
      user,
      writer: undefined,
      dryRun,
      warnings,
      ...options,
    };
    return await createObject(deps, created);
  } catch (error) {
    // Another client created it in the meantime.
    if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
    const update = { ref, subresource, next, user, writer: undefined, dryRun, warnings, ...options };
    return updateObject(deps, update);
  }
}

/** As upstream, conflicts and other errors of the configuration are reported first. */
function rejectDuplicates({ fieldValidation, duplicates }: ApplyRequest): void {
  if (fieldValidation !== "Strict" || duplicates.length === 0) return;
  const lines = duplicates.map((line) => `\n  ${line}`).join("");
  throw badRequest(
    `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${lines}`,
  );
}

function checkConfiguration({ resource, schema }: KindDefinition, configuration: JsonObject): void {
  const { apiVersion, metadata } = configuration;
  const expected = apiVersionOf(resource);
  if (apiVersion !== expected) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${apiVersion}, expected: ${expected}`,
    );
  }
  if (isJsonObject(metadata) && metadata.managedFields !== undefined)
    throw badRequest("metadata.managedFields must be nil");
  try {
    const { unknownFields } = decodeObject(schema, definitionName(resource), structuredClone(configuration));
    const [unknown] = unknownFields;
    if (unknown === undefined) return;
    throw new DecodeError(`.${unknown}: field not declared in schema`);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw untyped({ resource }, configuration, error.message);
  }
}

/** Upstream's error for a configuration that does not fit the schema. */
function untyped(
  { resource }: Pick<KindDefinition, "resource">,
  { metadata }: JsonObject,
  detail: string,
): StatusError {
  const { name = "", namespace = "" } = isJsonObject(metadata) ? metadata : {};
  const kind = `${apiVersionOf(resource)}, Kind=${resource.kind}`;
  return internalError(`failed to create typed patch object (${namespace}/${name}; ${kind}): ${detail}`);
}

/** Returns the object with the configuration and new managedFields. `current` is undefined if it does not exist. */
function applyTo(
  deps: WriteDeps,
  definition: KindDefinition,
  request: ApplyRequest,
  current: KubeObject | undefined,
): KubeObject {
  const { subresource, manager, configuration, ownedThrough = subresource } = request;
  const { resource, schema } = definition;
  const live = current && writtenPart(current, resource, subresource);
  const kind = kindOfWrite(deps, definition);
  const apply = (force: boolean) =>
    applyConfiguration({
      ...kind,
      manager,
      subresource: ownedThrough,
      resetFields: resetFieldsOf(definition, subresource),
      managers: managersOfObject(current),
      now: timeOfWrite(ownedThrough, deps.clock.now()),
      live,
      configuration,
      force,
    });
  try {
    let result = apply(request.force);
    if (result.kind === "conflict") {
      const conflicts = remainingConflicts(definition, request, live, result.conflicts);
      if (conflicts.length > 0) throw conflictError(conflicts);
      result = apply(true);
    }
    if (result.kind === "conflict") throw conflictError(result.conflicts);
    const merged = result.object ?? live ?? {};
    const { object } = decodeObject(schema, definitionName(resource), structuredClone(merged));
    const applied = toStoredKind(object as unknown as KubeObject, resource);
    if (current && subresource === "status") keepSpec(applied, current);
    if (manager === kubectlManager) updateLastApplied(applied, configuration);
    setManagedFields(applied, encodeManagers(result.managers));
    return applied;
  } catch (error) {
    if (error instanceof ApplyError)
      throw untyped(definition, configuration, `${error.path}: ${error.message}`);
    if (error instanceof DecodeError) throw untyped(definition, configuration, error.message);
    throw error;
  }
}

/** Conflicts without those that a move from client-side apply resolves. */
function remainingConflicts(
  definition: KindDefinition,
  { manager }: ApplyRequest,
  live: JsonObject | undefined,
  conflicts: readonly ApplyConflict[],
): readonly ApplyConflict[] {
  const lastApplied = manager === kubectlManager && live ? readLastApplied(definition, live) : undefined;
  if (!live || !lastApplied) return conflicts;
  return conflictsBeyondLastApplied(mergeTypeOfKind(definition), { live, lastApplied }, conflicts);
}

function readLastApplied({ resource }: KindDefinition, live: JsonObject): JsonObject | undefined {
  const { metadata } = live as unknown as KubeObject;
  const text = metadata.annotations?.[lastAppliedAnnotation];
  if (!text) return undefined;
  try {
    const lastApplied: unknown = JSON.parse(text);
    if (isJsonObject(lastApplied) && lastApplied.apiVersion === apiVersionOf(resource)) return lastApplied;
  } catch {
    // An annotation that cannot be read allows no conflicts.
  }
  return undefined;
}

/** Keeps the annotation of client-side apply current, so that a client may return to it. */
function updateLastApplied({ metadata }: KubeObject, configuration: JsonObject): void {
  const { annotations } = metadata;
  if (!annotations?.[lastAppliedAnnotation]) return;
  const copy = structuredClone(configuration) as unknown as KubeObject;
  delete copy.metadata?.annotations?.[lastAppliedAnnotation];
  annotations[lastAppliedAnnotation] = `${formatGoJson(copy)}\n`;
  const size = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size > maxAnnotationBytes) delete annotations[lastAppliedAnnotation];
}

/** JSON as Go writes it: sorted keys, and escaped characters of HTML. */
function formatGoJson(value: unknown): string {
  const sorted = (_: string, nested: unknown) =>
    isJsonObject(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
      : nested;
  const escapes: Record<string, string> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" };
  return JSON.stringify(value, sorted).replace(/[<>&]/g, (character) => escapes[character] ?? character);
}

function conflictError(conflicts: readonly ApplyConflict[]): StatusError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${formatManager(manager)}`,
    field: formatPath(path),
  }));
  return new StatusError(409, "Conflict", conflictMessage(conflicts), { causes });
}

function conflictMessage(conflicts: readonly ApplyConflict[]): string {
  const [first] = conflicts;
  if (first && conflicts.length === 1)
    return `Apply failed with 1 conflict: conflict with ${formatManager(first.manager)}: ${formatPath(first.path)}`;
  const byManager = new Map<string, string[]>();
  for (const { manager, path } of conflicts) {
    const identity = identityOf(manager);
    const lines = byManager.get(identity) ?? [`conflicts with ${formatManager(manager)}:`];
    byManager.set(identity, [...lines, `- ${formatPath(path)}`]);
  }
  const groups = [...byManager].sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  const lines = groups.flatMap(([, group]) => group);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function formatManager({ manager, operation, subresource, apiVersion }: FieldManager): string {
  const through = subresource && ` with subresource ${JSON.stringify(subresource)}`;
  const using = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${JSON.stringify(manager)}${through}${using}`;
}
