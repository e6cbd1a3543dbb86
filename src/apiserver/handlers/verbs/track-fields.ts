import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import { isEqual } from "../../../api/meta/is-equal.ts";
import { unparsedSpec, withoutSpec } from "../../../api/meta/lazy-spec.ts";
import type { KubeObject } from "../../../api/meta/objects.ts";
import { apiVersionOf, type Resource } from "../../../api/meta/resource.ts";
import { formatTime } from "../../../api/meta/time.ts";
import { ApplyError } from "../../../api/patch/apply/apply-error.ts";
import { type KindVersion, trackUpdate } from "../../../api/patch/apply/field-ownership.ts";
import { type FieldSet, hasPath, isMember } from "../../../api/patch/apply/field-set.ts";
import {
  decodeManagers,
  encodeManagers,
  type FieldManagers,
  isReset,
  type ManagedFieldsEntry,
} from "../../../api/patch/apply/managed-fields.ts";
import { type MergeType, mergeTypeOf } from "../../../api/patch/apply/merge-type.ts";
import type { JsonObject } from "../../../api/schema/json-object.ts";
import { definitionName } from "../../../api/schema/schema.ts";
import type { ApiRequest } from "../../request/api-request.ts";
import { presentObject, toStoredKind } from "../encoding/encode.ts";
import type { WriteDeps } from "./write-deps.ts";

/** The client of a write, as `metadata.managedFields` names it. */
export interface FieldWriter {
  readonly manager: string;
  /** Empty for the object itself. */
  readonly subresource: string;
}

/** Writer of objects that the server maintains itself. */
export const serverWriter: FieldWriter = { manager: "kube-apiserver", subresource: "" };

const maxManagerBytes = 128;

/** The `fieldManager` of the request, by default the first part of its User-Agent header. */
export function writerOf({ query, headers }: ApiRequest, subresource = ""): FieldWriter {
  const manager = query.get("fieldManager") || nameOfUserAgent(headers["user-agent"] ?? "");
  return { manager, subresource };
}

function nameOfUserAgent(userAgent: string): string {
  const [name = ""] = userAgent.split("/", 1);
  const printable = name.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "");
  return Buffer.from(printable).subarray(0, maxManagerBytes).toString();
}

/** What ownership needs to know about the kind of a write. */
export function kindOfWrite({ kinds }: Pick<WriteDeps, "kinds">, definition: KindDefinition) {
  const { resource } = definition;
  return {
    apiVersion: apiVersionOf(resource),
    type: mergeTypeOfKind(definition),
    version(apiVersion: string): KindVersion | undefined {
      const other = kinds.findKind(apiVersion, resource.kind);
      if (!other) return undefined;
      return {
        type: mergeTypeOfKind(other),
        convert: (object) => convert(object, resource, other.resource),
        convertBack: (object) => convert(object, other.resource, resource),
      };
    },
  };
}

export function mergeTypeOfKind({ resource, schema }: KindDefinition): MergeType {
  return mergeTypeOf(schema, definitionName(resource));
}

function convert(object: JsonObject, from: Resource, to: Resource): JsonObject {
  const stored = toStoredKind(object as unknown as KubeObject, from);
  return presentObject(stored, to) as unknown as JsonObject;
}

/** Fields that an endpoint does not write: the status for the object itself, the spec for its status. */
export function resetFieldsOf({ strategy, subresources }: KindDefinition, endpoint: "" | "status"): FieldSet {
  if (endpoint === "status") return { "f:spec": {}, ...strategy.resetByStatusUpdate };
  return subresources.includes("status") ? statusField : noFields;
}

const statusField: FieldSet = { "f:status": {} };
const noFields: FieldSet = {};

/** The part of an object that an endpoint writes, in the form of the request's version and without managedFields. */
export function writtenPart(object: KubeObject, resource: Resource, endpoint: "" | "status"): JsonObject {
  const presented = presentObject(object, resource);
  const { managedFields: _, ...metadata } = presented.metadata;
  return { ...(endpoint === "status" ? withoutSpec(presented) : presented), metadata };
}

/** Sets `metadata.managedFields` of an object that is created, updated or patched. `current` is undefined for a create. */
export function trackFields(
  deps: Pick<WriteDeps, "kinds">,
  write: {
    definition: KindDefinition;
    endpoint: "" | "status";
    writer: FieldWriter;
    next: KubeObject;
    current: KubeObject | undefined;
    now: number;
  },
): void {
  const { definition, endpoint, writer, next, current, now } = write;
  const { resource } = definition;
  const known = managersOf(next, current, writer);
  if (writer.subresource === "scale" && !isReplicasOwned(known)) {
    setManagedFields(next, encodeManagers(known));
    return;
  }
  try {
    const managers = trackUpdate({
      ...kindOfWrite(deps, definition),
      ...writer,
      resetFields: withManagedFields(resetFieldsOf(definition, endpoint)),
      managers: known,
      now: timeOfWrite(writer.subresource, now),
      before: current && presented(current, resource),
      after: presented(next, resource),
    });
    const isScaledToZero = writer.subresource === "scale" && !replicasOf(next);
    setManagedFields(next, encodeManagers(isScaledToZero ? withoutScale(managers) : managers));
  } catch (error) {
    if (!(error instanceof ApplyError)) throw error;
    // As upstream: an object that ownership cannot be computed for has no managedFields.
    setManagedFields(next, undefined);
  }
}

/** Comparisons skip managedFields as reset fields, which is cheaper than copies of both objects without them. */
function withManagedFields(resetFields: FieldSet): FieldSet {
  const metadata = resetFields["f:metadata"];
  if (isMember(metadata)) return resetFields;
  return { ...resetFields, "f:metadata": { "f:managedFields": noFields, ...metadata } };
}

function presented(object: KubeObject, resource: Resource): JsonObject {
  return presentObject(object, resource) as unknown as JsonObject;
}

/** As upstream, which tracks a Scale as a separate object: replicas without an owner get none through it. */
function isReplicasOwned(managers: FieldManagers): boolean {
  return [...managers.values()].some(({ fields }) => hasPath(fields, ["f:spec", "f:replicas"]));
}

function replicasOf({ spec }: KubeObject & { spec?: { replicas?: number } }): number | undefined {
  return spec?.replicas;
}

/** As upstream, whose Scale has no field for zero replicas: they have no owner. */
function withoutScale(managers: FieldManagers): FieldManagers {
  return new Map([...managers].filter(([, { subresource }]) => subresource !== "scale"));
}

/** Time of an entry. As upstream, entries through `scale` have none. */
export function timeOfWrite(subresource: string, now: number): string | undefined {
  return subresource === "scale" ? undefined : formatTime(now);
}

export function setManagedFields(object: KubeObject, entries: ManagedFieldsEntry[] | undefined): void {
  const { metadata } = object as { metadata: { managedFields?: ManagedFieldsEntry[] } };
  if (entries) metadata.managedFields = entries;
  else delete metadata.managedFields;
}

/** Managers of a stored object. None if they cannot be read. */
export function managersOfObject(object: KubeObject | undefined): FieldManagers {
  return decodeManagers(entriesOf(object)) ?? new Map();
}

/** Clients may change managedFields, except through a subresource. Entries that are missing or invalid are ignored. */
function managersOf(
  next: KubeObject,
  current: KubeObject | undefined,
  { subresource }: FieldWriter,
): FieldManagers {
  const sent = entriesOf(next);
  if (subresource === "" && isReset(sent)) return new Map();
  const managers = subresource === "" ? decodeManagers(sent) : undefined;
  return managers && managers.size > 0 ? managers : managersOfObject(current);
}

function entriesOf(object: KubeObject | undefined): ManagedFieldsEntry[] | undefined {
  return object?.metadata.managedFields as ManagedFieldsEntry[] | undefined;
}

/** Keeps the times of managedFields when an update changes nothing else, so that it is not written. */
export function keepTimes(next: KubeObject, current: KubeObject): void {
  const [after = [], before = []] = [entriesOf(next), entriesOf(current)];
  if (after.length !== before.length || !after.every((entry, i) => isSameButTime(entry, before[i]))) return;
  const { managedFields: _next, ...nextMetadata } = next.metadata;
  const { managedFields: _current, ...currentMetadata } = current.metadata;
  if (!isEqual(nextMetadata, currentMetadata)) return;
  if (!isEqual(withoutMetadata(withoutSpec(next)), withoutMetadata(withoutSpec(current)))) return;
  const specs = [unparsedSpec(next), unparsedSpec(current)];
  if (specs[0] !== undefined && specs[0] === specs[1]) setManagedFields(next, before);
  else if (isEqual(specOf(next), specOf(current))) setManagedFields(next, before);
}

function isSameButTime(a: ManagedFieldsEntry, b: ManagedFieldsEntry | undefined): boolean {
  if (!b || a.manager !== b.manager || a.operation !== b.operation) return false;
  return isEqual({ ...a, time: undefined }, { ...b, time: undefined });
}

function withoutMetadata(object: KubeObject): object {
  return { ...object, metadata: undefined };
}

function specOf(object: KubeObject & { spec?: unknown }): unknown {
  return object.spec;
}
