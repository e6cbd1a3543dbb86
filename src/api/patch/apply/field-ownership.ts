import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../schema/json-object.ts";
import { type Comparison, compareObjects, fieldSetOf } from "./compare-objects.ts";
import {
  differenceOf,
  emptyFieldSet,
  excludeFields,
  type FieldSet,
  hasPath,
  intersectionOf,
  isEmptyFieldSet,
  pathsOf,
  unionOf,
} from "./field-set.ts";
import {
  type FieldManager,
  type FieldManagers,
  identityOf,
  limitManagers,
  setFields,
} from "./managed-fields.ts";
import { mergeObjects, removeFields, withNamedFields } from "./merge-objects.ts";
import type { MergeType } from "./merge-type.ts";

/** One version of a kind. */
export interface KindVersion {
  readonly type: MergeType;
  /** Converts an object of the request's version to this one. */
  convert(object: JsonObject): JsonObject;
  /** Converts an object of this version to the request's. */
  convertBack(object: JsonObject): JsonObject;
}

/** A write, as far as field ownership depends on it. Objects have no managedFields. */
interface Write {
  readonly apiVersion: string;
  readonly type: MergeType;
  /** Undefined for a version that the kind does not have. */
  version(apiVersion: string): KindVersion | undefined;
  readonly manager: string;
  readonly subresource: string;
  /** Fields that this endpoint does not write. */
  readonly resetFields: FieldSet;
  readonly managers: FieldManagers;
  /** RFC 3339. Undefined for an entry without a time. */
  readonly now: string | undefined;
}

/** Fields that the server sets, and that have no owner. */
const serverFields: FieldSet = {
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    "f:name": {},
    "f:namespace": {},
    "f:creationTimestamp": {},
    "f:selfLink": {},
    "f:uid": {},
    "f:clusterName": {},
    "f:generation": {},
    "f:managedFields": {},
    "f:resourceVersion": {},
  },
};

/** Object of a type before a client has set anything. */
function zeroObject(type: MergeType): JsonObject {
  return type.kind === "struct" ? type.zero : {};
}

/**
 * Managers after a create, an update or a patch. The writer owns what it added and modified, and the others lose it.
 * `before` is undefined for a create. An object without managers stays without until it is applied to.
 */
export function trackUpdate(
  write: Write & { readonly before: JsonObject | undefined; readonly after: JsonObject },
): FieldManagers {
  const { before, after, type, resetFields, managers, apiVersion, manager, subresource, now } = write;
  if (before && managers.size === 0) return managers;
  const comparison = compareObjects(type, before ?? zeroObject(type), after, resetFields);
  if (isUnchanged(comparison)) return managers;
  const changed = new Map(managers);
  const lost = changesOf(comparison);
  for (const [identity, other] of managers) {
    const theirs = comparisonFor(write, other, comparison, before ?? zeroObject(type), after);
    if (!theirs) {
      changed.delete(identity);
      continue;
    }
    const fields = differenceOf(other.fields, theirs === comparison ? lost : changesOf(theirs));
    if (fields !== other.fields) setFields(changed, identity, { ...other, fields });
  }
  const own = differenceOf(unionOf(comparison.modified, comparison.added), serverFields);
  if (!isEmptyFieldSet(own)) {
    const writer = { manager: manager || "unknown", operation: "Update", apiVersion, subresource } as const;
    const identity = identityOf(writer);
    const previous = changed.get(identity)?.fields ?? emptyFieldSet;
    changed.set(identity, { ...writer, time: now, fields: unionOf(own, previous) });
  }
  return limitManagers(changed);
}

function changesOf({ added, modified, removed }: Comparison): FieldSet {
  return unionOf(unionOf(added, modified), removed);
}

function isUnchanged({ added, modified, removed }: Comparison): boolean {
  return isEmptyFieldSet(added) && isEmptyFieldSet(modified) && isEmptyFieldSet(removed);
}

/** The comparison in the version of a manager. Undefined if the kind does not have this version. */
function comparisonFor(
  { apiVersion, version, resetFields }: Write,
  manager: FieldManager,
  comparison: Comparison,
  before: JsonObject,
  after: JsonObject,
): Comparison | undefined {
  if (manager.apiVersion === apiVersion) return comparison;
  const theirs = version(manager.apiVersion);
  return theirs && compareObjects(theirs.type, theirs.convert(before), theirs.convert(after), resetFields);
}

export interface ApplyConflict {
  readonly manager: FieldManager;
  readonly path: readonly string[];
}

type ApplyResult =
  | { readonly kind: "conflict"; readonly conflicts: readonly ApplyConflict[] }
  /** `object` is undefined if the configuration changes nothing. */
  | { readonly kind: "applied"; readonly object: JsonObject | undefined; readonly managers: FieldManagers };

/**
 * Applies a configuration. `live` is undefined if the object does not exist. Fields that the applier owned, that are no
 * longer in its configuration and that no one else owns are removed. Fields of others conflict unless `force` is set.
 */
export function applyConfiguration(
  write: Write & {
    readonly live: JsonObject | undefined;
    readonly configuration: JsonObject;
    readonly force: boolean;
  },
): ApplyResult {
  const { type, apiVersion, manager, subresource, resetFields, configuration, now } = write;
  const live = write.live ?? zeroObject(type);
  const known =
    write.managers.size > 0
      ? write.managers
      : trackUpdate({ ...write, before: undefined, after: live, manager: "before-first-apply" });
  const applier = { manager: manager || "unknown", operation: "Apply", apiVersion, subresource } as const;
  const identity = identityOf(applier);
  const last = known.get(identity);
  const managers = new Map(known);
  const fields = excludeFields(fieldSetOf(type, configuration), resetFields);
  managers.set(identity, { ...applier, time: last?.time, fields });
  const merged = mergeObjects(type, live, configuration) as JsonObject;
  const object = prune(write, merged, managers, last);

  const comparison = compareObjects(type, live, object, resetFields);
  const conflicts: ApplyConflict[] = [];
  for (const [otherId, other] of [...managers]) {
    if (otherId === identity) continue;
    const theirs = comparisonFor(write, other, comparison, live, object);
    if (!theirs) {
      managers.delete(otherId);
      continue;
    }
    const taken = intersectionOf(other.fields, unionOf(theirs.modified, theirs.added));
    conflicts.push(...pathsOf(taken).map((path) => ({ manager: other, path })));
    const kept = differenceOf(differenceOf(other.fields, taken), theirs.removed);
    setFields(managers, otherId, { ...other, fields: kept });
  }
  if (conflicts.length > 0 && !write.force) return { kind: "conflict", conflicts };

  const isChanged = !isDeepStrictEqual(live, object);
  const time = isChanged ? now : last?.time;
  setFields(managers, identity, { ...applier, time, fields: differenceOf(fields, serverFields) });
  return { kind: "applied", object: isChanged ? object : undefined, managers: limitManagers(managers) };
}

/** Removes what the applier applied last time, did not apply this time, and no manager owns. */
function prune(
  write: Write,
  merged: JsonObject,
  managers: FieldManagers,
  last: FieldManager | undefined,
): JsonObject {
  const lastVersion = last && versionOf(write, last.apiVersion);
  if (!last || isEmptyFieldSet(last.fields) || !lastVersion) return merged;
  const { type } = lastVersion;
  const converted = lastVersion.convert(merged);
  const lastFields = withNamedFields(type, last.fields);
  const removed = removeFields(type, converted, lastFields);
  const owned = addBackOwned(write, { converted, pruned: removed, version: last.apiVersion }, managers);
  const mergedSet = withNamedFields(type, fieldSetOf(type, converted));
  const ownedSet = withNamedFields(type, fieldSetOf(type, owned));
  const dangling = intersectionOf(differenceOf(mergedSet, ownedSet), lastFields);
  return lastVersion.convertBack((removeFields(type, converted, dangling) ?? {}) as JsonObject);
}

/** Adds back what was removed although a manager, or the new configuration, owns it. */
function addBackOwned(
  write: Write,
  { converted, pruned, version }: { converted: JsonObject; pruned: unknown; version: string },
  managers: FieldManagers,
): unknown {
  const ownedAt = new Map<string, FieldSet>([[version, emptyFieldSet]]);
  for (const { apiVersion, fields } of managers.values()) {
    ownedAt.set(apiVersion, unionOf(ownedAt.get(apiVersion) ?? emptyFieldSet, fields));
  }
  const from = versionOf(write, version);
  let rest = pruned;
  for (const [apiVersion, fields] of ownedAt) {
    const at = versionOf(write, apiVersion);
    if (!at || !from) continue;
    const convert = (object: unknown) => at.convert(from.convertBack((object ?? {}) as JsonObject));
    const [mergedThere, restThere] = [convert(converted), convert(rest)];
    const mergedSet = withNamedFields(at.type, fieldSetOf(at.type, mergedThere));
    const restSet = withNamedFields(at.type, fieldSetOf(at.type, restThere));
    const unowned = differenceOf(differenceOf(mergedSet, restSet), withNamedFields(at.type, fields));
    const kept = (removeFields(at.type, mergedThere, unowned) ?? {}) as JsonObject;
    rest = from.convert(at.convertBack(kept));
  }
  return rest;
}

const identityConversion = (object: JsonObject) => object;

function versionOf({ apiVersion, type, version }: Write, wanted: string): KindVersion | undefined {
  if (wanted !== apiVersion) return version(wanted);
  return { type, convert: identityConversion, convertBack: identityConversion };
}

/**
 * Conflicts that a switch from client-side apply to server-side apply may ignore are those about fields that the last
 * applied configuration contains with the values that the object has. Returns the other ones.
 */
export function conflictsBeyondLastApplied(
  type: MergeType,
  { live, lastApplied }: { live: JsonObject; lastApplied: JsonObject },
  conflicts: readonly ApplyConflict[],
): ApplyConflict[] {
  const { added, modified, removed } = compareObjects(type, lastApplied, live);
  const changed = unionOf(unionOf(added, modified), removed);
  const own = differenceOf(fieldSetOf(type, lastApplied), changed);
  return conflicts.filter(({ path }) => !hasPath(own, path));
}
