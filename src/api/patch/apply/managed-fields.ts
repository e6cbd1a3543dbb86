import { isEqual } from "../../meta/is-equal.ts";
import { isJsonObject } from "../../schema/json-object.ts";
import { type FieldSet, isEmptyFieldSet, sortFieldSet, unionOf } from "./field-set.ts";

/** Entry of `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: object;
  readonly subresource?: string;
}

/** Fields that one manager owns through one operation. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Managers by identity. */
export type FieldManagers = ReadonlyMap<string, FieldManager>;

/** Managers of updates that are kept apart. Older ones are merged. */
const maxUpdateManagers = 10;
const mergedManagerName = "ancient-changes";

/**
 * Identifies a manager, in upstream's form, which decides the order of conflicts. An applier keeps its identity when it
 * changes to another version.
 */
export function identityOf({
  manager,
  operation,
  apiVersion,
  subresource,
}: Omit<FieldManager, "fields" | "time">): string {
  return JSON.stringify({
    manager: manager || undefined,
    operation,
    apiVersion: operation === "Apply" ? undefined : apiVersion,
    subresource: subresource || undefined,
  });
}

/** Reads the managers of an object. Undefined if an entry is invalid. */
export function decodeManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
): FieldManagers | undefined {
  const managers = new Map<string, FieldManager>();
  for (const entry of entries ?? []) {
    const { manager = "", operation, apiVersion, time, fieldsType, fieldsV1 = {}, subresource = "" } = entry;
    if (operation !== "Apply" && operation !== "Update") return undefined;
    if (!apiVersion || fieldsType !== "FieldsV1" || !isFieldSet(fieldsV1)) return undefined;
    const decoded = { manager, operation, apiVersion, subresource, time, fields: fieldsV1 } as const;
    managers.set(identityOf(decoded), decoded);
  }
  return managers;
}

/** Whether a request asks for the removal of all entries: an empty list, or one empty entry. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  return entries !== undefined && (entries.length === 0 || isEqual(entries, [{}]));
}

function isFieldSet(value: unknown): value is FieldSet {
  if (!isJsonObject(value)) return false;
  for (const element in value) if (!isElement(element) || !isFieldSet(value[element])) return false;
  return true;
}

/** Keys that need not be parsed to be recognized: text and number fields without escapes. */
const plainKey = /^k:\{"\w+":(?:"[^"\\\p{Cc}]*"|\d{1,15})(?:,"\w+":(?:"[^"\\\p{Cc}]*"|\d{1,15}))*\}$/u;

function isElement(element: string): boolean {
  if (element === "." || element.startsWith("f:")) return true;
  if (plainKey.test(element)) return true;
  if (!element.startsWith("k:") && !element.startsWith("v:")) return false;
  try {
    const value: unknown = JSON.parse(element.slice(2));
    return isJsonObject(value) === element.startsWith("k:");
  } catch {
    return false;
  }
}

/** Entries in upstream's order: appliers first, then by time and name. Undefined for no managers. */
export function encodeManagers(managers: FieldManagers): ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  return [...managers.values()].sort(compareManagers).map((entry) => ({
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time !== undefined && { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: sortFieldSet(entry.fields),
    ...(entry.subresource && { subresource: entry.subresource }),
  }));
}

function compareManagers(a: FieldManager, b: FieldManager): number {
  return (
    compareTexts(a.operation, b.operation) ||
    secondsOf(a) - secondsOf(b) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function secondsOf({ time }: FieldManager): number {
  return time === undefined ? 0 : Math.floor(Date.parse(time) / 1_000);
}

/** Merges the oldest managers of updates until at most ten are left. */
export function limitManagers(managers: FieldManagers): FieldManagers {
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update");
  let excess = updaters.length - maxUpdateManagers;
  if (excess <= 0) return managers;
  updaters.sort(([a, left], [b, right]) => secondsOf(left) - secondsOf(right) || compareTexts(a, b));
  const limited = new Map(managers);
  const firsts = new Map<string, string>();
  for (const [identity, manager] of updaters) {
    if (excess === 0) break;
    const { apiVersion, operation, time } = manager;
    const first = firsts.get(apiVersion);
    if (first === undefined) {
      firsts.set(apiVersion, identity);
      continue;
    }
    const bucket = { manager: mergedManagerName, operation, apiVersion, subresource: "" };
    const bucketId = identityOf(bucket);
    const oldest = limited.get(bucketId) ?? limited.get(first);
    if (!limited.has(bucketId)) limited.delete(first);
    limited.delete(identity);
    const fields = oldest ? unionOf(manager.fields, oldest.fields) : manager.fields;
    limited.set(bucketId, { ...bucket, time, fields });
    excess--;
  }
  return limited;
}

/** Replaces the fields of a manager, or removes a manager without fields. */
export function setFields(
  managers: Map<string, FieldManager>,
  identity: string,
  manager: FieldManager,
): void {
  if (isEmptyFieldSet(manager.fields)) managers.delete(identity);
  else managers.set(identity, manager);
}
