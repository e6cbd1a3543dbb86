import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import { diffValues, isEqual } from "../../../meta/is-equal.ts";
import type { KubeObject, Wire } from "../../../meta/objects.ts";
import { compareQuantities, parseQuantity } from "../../../meta/quantity.ts";
import { defaultClaim } from "../../../pod/defaults/volume.ts";
import { type ClaimSpec, validateClaimSpec } from "../../../pod/validation/claim-spec.ts";
import { claimSpecWarnings } from "../../../pod/validation/pod-warnings.ts";
import { defineKind } from "../../kind-definition.ts";
import { keepField, type Strategy } from "../../strategy.ts";
import { persistentVolumeClaimColumns } from "../persistent-volume/columns.ts";

type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;

function validateClaim({ spec = {} }: Claim): FieldError[] {
  const at = new FieldErrors("spec");
  validateClaimSpec(spec, at);
  return at.errors;
}

/** Validates an update of a claim. Only the size and the attributes class of a bound claim may change. */
function validateClaimUpdate(next: Claim, current: Claim): FieldError[] {
  const at = new FieldErrors("", validateClaim(next));
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
  // The binder sets the volume. A claim created before there was a default class may get one later.
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

/** Validates a changed size. After a failed expansion it may shrink, but not below the current capacity. */
function validateSize(next: Claim, current: Claim, at: FieldErrors): void {
  const size = parseQuantity(next.spec?.resources?.requests?.storage ?? "0");
  const before = parseQuantity(current.spec?.resources?.requests?.storage ?? "0");
  const actual = parseQuantity(current.status?.capacity?.storage ?? "0");
  if (compareQuantities(size, before) < 0 && compareQuantities(size, actual) <= 0) {
    at.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  }
}

function validateClaimStatusUpdate({ spec, status }: Claim): FieldError[] {
  const at = new FieldErrors("");
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

const strategy: Strategy<KubeObject & Wire<k8s.V1PersistentVolumeClaim>> = {
  returnsDeletedObject: true,
  applyDefaults: defaultClaim,

  prepareForCreate(next) {
    next.status = { phase: "Pending" };
    if (next.spec) normalizeDataSources(next.spec, undefined);
  },

  prepareForUpdate(next, current) {
    keepField(next, current, "status");
    if (next.spec) normalizeDataSources(next.spec, current.spec);
  },

  prepareForStatusUpdate(next, current) {
    keepField(next, current, "spec");
  },

  validate: validateClaim,
  validateUpdate: validateClaimUpdate,
  validateStatusUpdate: validateClaimStatusUpdate,

  warnings: ({ spec }) => (spec ? claimSpecWarnings(spec, new FieldErrors("spec")) : []),
};

export const persistentVolumeClaimKind = defineKind<KubeObject & Wire<k8s.V1PersistentVolumeClaim>>({
  resource: {
    group: "",
    version: "v1",
    plural: "persistentvolumeclaims",
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
  },
  subresources: ["status"],
  strategy,
  columns: persistentVolumeClaimColumns,
});

/** `dataSourceRef` supersedes `dataSource`: each is set from the other. */
function normalizeDataSources(spec: ClaimSpec, current: ClaimSpec | undefined): void {
  const inUse = Boolean(current?.dataSource ?? current?.dataSourceRef);
  if (!inUse && !spec.dataSourceRef && spec.dataSource && !isKnownSource(spec.dataSource)) {
    delete spec.dataSource;
  }
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (!dataSource && dataSourceRef && !dataSourceRef.namespace) {
    const { namespace: _, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}

/** Whether `dataSource` supports the source; it ignores all others. */
function isKnownSource({ kind, apiGroup = "" }: k8s.V1TypedLocalObjectReference): boolean {
  if (kind === "PersistentVolumeClaim") return apiGroup === "";
  return kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io";
}
