import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "./field-errors.ts";
import { isEqual } from "./is-equal.ts";
import {
  dnsLabelProblems,
  generateNameProblems,
  labelValueProblems,
  type NameRule,
  nameProblems,
  qualifiedNameProblems,
} from "./names.ts";
import type { ObjectMeta, OwnerReference } from "./objects.ts";

const maxAnnotationBytes = 256 * 1024;

/** Validates metadata after `generateName` has been applied. */
export function validateObjectMeta(
  meta: ObjectMeta,
  rules: { readonly namespaced: boolean; readonly nameRule: NameRule } & FinalizerRule,
): FieldError[] {
  const at = new FieldErrors("metadata");
  if (meta.generateName) {
    at.problems("generateName", meta.generateName, generateNameProblems(rules.nameRule, meta.generateName));
  }
  if (!meta.name) at.required("name", "name or generateName is required");
  else at.problems("name", meta.name, nameProblems(rules.nameRule, meta.name));
  if (!rules.namespaced) {
    if (meta.namespace) at.forbidden("namespace", "not allowed on this type");
  } else if (!meta.namespace) {
    at.required("namespace");
  } else {
    at.problems("namespace", meta.namespace, dnsLabelProblems(meta.namespace));
  }
  if (meta.finalizers) validateFinalizers(meta.finalizers, at);
  validateShared(meta, rules, at);
  return at.errors;
}

interface FinalizerRule {
  /** Finalizers that are accepted. Default: standard ones and those with a domain. */
  readonly finalizers?: "any" | "qualified";
}

export function validateObjectMetaUpdate(
  next: ObjectMeta,
  current: ObjectMeta,
  rules: FinalizerRule = {},
): FieldError[] {
  const at = new FieldErrors("metadata");
  if (current.deletionTimestamp) validateNoNewFinalizers(next.finalizers, current.finalizers, at);
  if (!next.resourceVersion) at.invalid("resourceVersion", "", "must be specified for an update");
  if ((next.generation ?? 0) < (current.generation ?? 0)) {
    at.invalid("generation", next.generation ?? 0, "must not be decremented");
  }
  for (const field of immutable) {
    if (!isEqual(next[field], current[field])) at.invalid(field, next[field], "field is immutable");
  }
  validateShared(next, rules, at);
  return at.errors;
}

const immutable = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const satisfies readonly (keyof ObjectMeta)[];

function validateShared(meta: ObjectMeta, { finalizers }: FinalizerRule, at: FieldErrors): void {
  at.nonNegative("generation", meta.generation);
  if (meta.labels) validateLabels(meta.labels, at.child("labels"));
  if (meta.annotations) validateAnnotations(meta.annotations, at.child("annotations"));
  if (meta.ownerReferences) validateOwnerReferences(meta.ownerReferences, at);
  if (meta.managedFields) at.each("managedFields", meta.managedFields, validateManagedFields);
  if (finalizers === "any") return;
  meta.finalizers?.forEach((finalizer, i) => {
    if (!finalizer.includes("/") && !standardFinalizers.includes(finalizer)) {
      const detail = "name is neither a standard finalizer name nor is it fully qualified";
      at.invalid(`finalizers[${i}]`, finalizer, detail);
    }
  });
}

const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

export function validateAnnotations(annotations: Record<string, string> | undefined, at: FieldErrors): void {
  let bytes = 0;
  for (const key in annotations) {
    at.problems("", key, qualifiedNameProblems(key.toLowerCase()));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? "");
  }
  if (bytes > maxAnnotationBytes) at.tooLong("", maxAnnotationBytes);
}

function validateOwnerReferences(references: OwnerReference[], at: FieldErrors): void {
  // Upstream reports these errors without an index.
  for (const reference of references) validateOwnerReference(reference, at.child("ownerReferences"));
  const controllers = references
    .filter((reference) => reference.controller)
    .map((reference) => `${reference.kind}/${reference.name}`);
  for (const other of controllers.slice(1)) {
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controllers[0]} and ${other}`;
    at.invalid("ownerReferences", references, detail);
  }
}

function validateOwnerReference(reference: OwnerReference, at: FieldErrors): void {
  const { apiVersion = "", kind } = reference;
  if (!/^(?:[^/]*\/)?[^/]+$/.test(apiVersion)) {
    at.invalid("apiVersion", apiVersion, "version must not be empty");
  }
  for (const field of ["kind", "name", "uid"] as const) {
    if (!reference[field]) at.invalid(field, "", "must not be empty");
  }
  if (apiVersion === "v1" && kind === "Event") {
    at.invalid("", reference, "/v1, Kind=Event is disallowed from being an owner");
  }
}

function validateFinalizers(finalizers: readonly string[], at: FieldErrors): void {
  for (const finalizer of finalizers) {
    at.problems("finalizers", finalizer, qualifiedNameProblems(finalizer));
  }
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    const detail = "finalizer orphan and foregroundDeletion cannot be both set";
    at.invalid("finalizers", finalizers, detail);
  }
}

function validateNoNewFinalizers(next: string[] = [], current: string[] = [], at: FieldErrors): void {
  const known = new Set(current);
  const added = new Set(next.filter((finalizer) => !known.has(finalizer)));
  if (added.size === 0) return;
  const list = [...added].sort().map((finalizer) => JSON.stringify(finalizer));
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list.join(", ")}}`;
  at.forbidden("finalizers", detail);
}

function validateManagedFields(
  entry: NonNullable<ObjectMeta["managedFields"]>[number],
  at: FieldErrors,
): void {
  if (!entry.operation) at.required("operation", "must not be empty");
  else at.oneOf("operation", entry.operation, ["Apply", "Update"]);
  if (entry.fieldsType && entry.fieldsType !== "FieldsV1") {
    at.invalid("fieldsType", entry.fieldsType, "must be `FieldsV1`");
  }
  if ((entry.manager?.length ?? 0) > 128) at.tooLong("manager", 128);
  if ((entry.subresource?.length ?? 0) > 256) at.tooLong("subresource", 256);
}

export function validateLabels(labels: Record<string, string> | undefined, at: FieldErrors): void {
  for (const key in labels) {
    const value = labels[key] ?? "";
    at.problems("", key, qualifiedNameProblems(key));
    at.problems("", value, labelValueProblems(value));
  }
}

export function validateLabelSelector(selector: k8s.V1LabelSelector | undefined, at: FieldErrors): void {
  if (!selector) return;
  validateLabels(selector.matchLabels, at.child("matchLabels"));
  at.each("matchExpressions", selector.matchExpressions, validateRequirement);
}

function validateRequirement(requirement: k8s.V1LabelSelectorRequirement, at: FieldErrors): void {
  const { values = [] } = requirement;
  validateOperator(requirement, at);
  for (const [i, value] of values.entries()) at.problems(`values[${i}]`, value, labelValueProblems(value));
}

/** Validates the key of a requirement and the operators that all selectors support. */
export function validateOperator(
  { key, operator, values = [] }: k8s.V1LabelSelectorRequirement,
  at: FieldErrors,
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) at.required("values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) {
      at.forbidden("values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else {
    at.invalid("operator", operator, "not a valid selector operator");
  }
  at.problems("key", key, qualifiedNameProblems(key));
}
