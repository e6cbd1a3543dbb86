import type * as k8s from "@kubernetes/client-node";
import type { FieldError } from "../field-error.ts";
import { isEqual } from "../is-equal.ts";
import type { KubeObject, Wire } from "../objects.ts";
import { compareQuantities, parseQuantity } from "../quantity.ts";
import { type ClaimSpec, validateClaimSpec } from "./claim-spec.ts";
import { diffValues } from "./diff.ts";
import { Report } from "./report.ts";

type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;

export function validateClaim({ spec = {} }: Claim): FieldError[] {
  const at = new Report("spec");
  validateClaimSpec(spec, at);
  return at.errors;
}

/** A claim once made is fixed, except that a bound one may grow and change its attributes. */
export function validateClaimUpdate(next: Claim, current: Claim): FieldError[] {
  const at = new Report("", validateClaim(next));
  const { spec = {} } = next;
  const { spec: before = {} } = current;
  const bound = next.status?.phase === "Bound";
  const comparable = withoutAllowedChanges(spec, before, bound);
  if (!isEqual(comparable, before)) {
    const difference = diffValues(before, comparable);
    const detail = `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${difference}`;
    at.forbidden("spec", detail);
  }
  validateSize(next, current, at);
  if (spec.volumeMode !== before.volumeMode) at.invalid("volumeMode", spec.volumeMode, "field is immutable");
  const { volumeAttributesClassName: attributes } = spec;
  if (current.status?.currentVolumeAttributesClassName !== undefined && !attributes) {
    const target = attributes === undefined ? "nil" : "empty string";
    const detail = `update to ${target} is forbidden when status.currentVolumeAttributesClassName is not nil`;
    at.forbidden("spec.volumeAttributesClassName", detail);
  }
  return at.errors;
}

function withoutAllowedChanges(after: ClaimSpec, before: ClaimSpec, bound: boolean): ClaimSpec {
  const rest = { ...after };
  // The binder names the volume; a class may be given to a claim that was made before there was a default one.
  if (!before.volumeName) rest.volumeName = before.volumeName;
  if (before.storageClassName === undefined) rest.storageClassName = undefined;
  if (bound) {
    rest.volumeAttributesClassName = before.volumeAttributesClassName;
    if (after.resources?.requests) {
      const requests = { ...after.resources.requests };
      const storage = before.resources?.requests?.storage;
      if (storage !== undefined) requests.storage = storage;
      rest.resources = { ...after.resources, requests };
    }
  }
  return rest;
}

/** A failed growth may be taken back, to no less than there already is. */
function validateSize(next: Claim, current: Claim, at: Report): void {
  const size = parseQuantity(next.spec?.resources?.requests?.storage ?? "0");
  const before = parseQuantity(current.spec?.resources?.requests?.storage ?? "0");
  const actual = parseQuantity(current.status?.capacity?.storage ?? "0");
  if (compareQuantities(size, before) < 0 && compareQuantities(size, actual) <= 0) {
    at.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  }
}

export function validateClaimStatusUpdate({ spec, status }: Claim): FieldError[] {
  const at = new Report("");
  if (!spec?.accessModes?.length) at.required("Spec.accessModes");
  for (const field of ["capacity", "allocatedResources"] as const) {
    for (const [name, amount] of Object.entries(status?.[field] ?? {})) {
      if (parseQuantity(amount).nanos < 0n) {
        at.invalid(`status.${field}[${name}]`, amount, "must be a valid resource quantity");
      }
    }
  }
  for (const value of Object.values(status?.allocatedResourceStatuses ?? {})) {
    at.oneOf("status.allocatedResourceStatuses", value, resizeStatuses);
  }
  return at.errors;
}

const resizeStatuses = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
];
